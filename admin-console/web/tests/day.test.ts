/* The shape of a day and what is oldest at a gate, as functions of rows: slots of a quarter of an
 * hour between two midnights of the reader's zone, what ended in each, and what is yet to come.
 * No page is drawn here; journeys look at those. */

import { describe, expect, it, vi } from 'vitest'
import { day, flow, midnight, shape, SLOT, type Ran } from '@/domain/day'
import { oldestOf } from '@/domain/gates'
import { learn } from '@/stores/ran'

/* What asks the server knows the browser. */
vi.mock('../src/stores/resource', () => ({ useResource: () => null }))
vi.mock('../src/api/client', () => ({ api: {} }))

const at = (s: string) => Date.parse(`2026-03-05T${s}Z`)
const ran = (ended: string | null, good = true, began = ended): Ran => ({
	id: `${began}`,
	task: 'p/w/t',
	began: began ? at(began) : null,
	ended: ended ? at(ended) : null,
	good,
})

describe('the shape of a day', () => {
	it('begins at midnight of the zone, also where the clock is moved', () => {
		expect(midnight(at('07:42:10.5'), 'UTC')).toBe(at('00:00:00'))
		expect(midnight(at('07:42:10'), 'Asia/Shanghai')).toBe(at('00:00:00') - 8 * 3_600_000)
		/* Berlin, 29 March 2026: 23 hours; 25 October: 25. */
		for (const [noon, hours] of [
			['2026-03-29T10:00:00Z', 23],
			['2026-10-25T10:00:00Z', 25],
			['2026-10-26T10:00:00Z', 24],
		] as const) {
			const d = day(Date.parse(noon), 'Europe/Berlin')
			expect([noon, (d.to - d.from) / 3_600_000]).toEqual([noon, hours])
		}
		/* Santiago, 6 September 2026: its day begins at one o'clock. */
		const d = day(Date.parse('2026-09-06T12:00:00Z'), 'America/Santiago')
		expect(new Date(d.from).toISOString()).toBe('2026-09-06T04:00:00.000Z')
		expect((d.to - d.from) / 3_600_000).toBe(23)
	})
	it('counts what ended, what runs now and what is expected, each in its slot', () => {
		const now = at('07:42:10'),
			slots = shape(day(now, 'UTC'), now, [ran('00:00:00'), ran('07:31:00'), ran('07:44:59', false), ran(null)], 3, [
				at('07:41:00'),
				at('09:12:00'),
				at('23:59:59'),
				at('23:59:59') + 5000,
			])
		expect(slots.length).toBe(96)
		expect(slots[0]).toEqual({ at: at('00:00:00'), good: 1, bad: 0, runs: 0, ahead: 0 })
		expect(slots[30]).toEqual({ at: at('07:30:00'), good: 1, bad: 1, runs: 3, ahead: 0 })
		expect(slots[36]!.ahead).toBe(1)
		expect(slots[95]!.ahead).toBe(1)
		expect(slots.reduce((a, s) => a + s.ahead, 0)).toBe(2)
		expect(slots[1]!.at - slots[0]!.at).toBe(SLOT)
	})
})

describe('the flow of the last hours', () => {
	it('counts starts, ends and failures by their own times', () => {
		const now = at('08:00:00'),
			f = flow([ran('07:59:00', false, '07:40:00'), ran(null, false, '07:59:30'), ran('07:30:00')], now, 600_000, 3)
		expect(f.from).toBe(at('07:30:00'))
		expect(f.starts).toEqual([1, 1, 1])
		expect(f.ends).toEqual([1, 0, 1])
		expect(f.failures).toEqual([0, 0, 1])
	})
})

describe('since when the oldest waits at each gate', () => {
	it('is the earliest of its queues; what is not due yet does not wait', () => {
		const q = (kind: string, oldest: string, running = 0, limit = 4) => ({
			kind,
			running,
			limit,
			oldest: `2026-03-05T${oldest}Z`,
		})
		const of = oldestOf(
			[
				q('project', '07:00:00'),
				q('workflow', '06:00:00'),
				q('pool', '05:00:00'),
				q('server', '04:00:00'),
				q('type', '03:00:00', 0, 0),
				q('type', '02:00:00', 4),
				q('type', '01:00:00', 3),
			],
			'2026-03-05T00:30:00Z',
			at('08:00:00'),
		)
		expect(of).toEqual({
			4: at('00:30:00'),
			7: at('06:00:00'),
			8: at('04:00:00'),
			10: at('03:00:00'),
			11: at('02:00:00'),
			12: at('01:00:00'),
		})
		expect(oldestOf([], '2026-03-05T08:00:01Z', at('08:00:00'))).toEqual({})
	})
})

describe('what the stream tells of beginnings and ends', () => {
	const change = (id: string, to: string, time: string, more = {}) =>
		({ id, to, from: 'Ready', at: `2026-03-05T${time}Z`, part: 0, attempt: 1, task: 'p/w/t', ...more }) as never
	const began = { rows: new Map([['1', ran(null, false, '07:00:00')]]), cut: null }
	it('is taken in where it stands; parts, test runs and other changes are not', () => {
		const now = learn(began, [
			change('1', 'Succ', '07:10:00'),
			change('2', 'Running', '07:11:00'),
			change('3', 'StopSchedule', '07:12:00'),
			change('4', 'Succ', '07:13:00', { attempt: 0 }),
			change('5', 'Succ', '07:14:00', { part: -1 }),
			change('6', 'DependenceFinish', '07:15:00'),
		])
		expect([...now.rows.values()].map(r => [r.began, r.ended, r.good])).toEqual([
			[at('07:00:00'), at('07:10:00'), true],
			[at('07:11:00'), null, false],
			[at('07:12:00'), at('07:12:00'), false],
			[null, at('07:13:00'), true],
		])
		expect(now).not.toBe(began)
		expect(learn(now, [change('6', 'Ready', '07:16:00')])).toBe(now)
	})
})
