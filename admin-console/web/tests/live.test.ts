import { describe, expect, it } from 'vitest'
import { Batch, patch, type Change } from '@/live/reducer'

const change = (number: number, id: string, to: string): Change => ({
	number: String(number),
	at: `2026-03-01T00:00:0${number % 10}Z`,
	id,
	task_id: 1,
	run_date: '',
	part: 0,
	event: 'x',
	from: null,
	to,
	generation: 1,
	attempt: 1,
})

describe('the stream', () => {
	it('keeps the last change of each instance, in order', () => {
		const b = new Batch()
		for (const [n, id, to] of [
			[1, 'a', 'Running'],
			[2, 'b', 'Running'],
			[3, 'a', 'Succ'],
		] as const)
			b.add(change(n, id, to))
		expect(b.take().map(c => `${c.id}${c.to}`)).toEqual(['bRunning', 'aSucc'])
		expect(b.take()).toEqual([])
	})
	it('says of the last change from where it came since the last time', () => {
		const b = new Batch()
		b.add({ ...change(1, 'a', 'Ready'), from: 'StopSchedule' })
		b.add({ ...change(2, 'a', 'Running'), from: 'Ready' })
		b.add({ ...change(3, 'a', 'Succ'), from: 'Running' })
		expect(b.take()).toMatchObject([{ from: 'StopSchedule', to: 'Succ' }])
		b.add({ ...change(4, 'a', 'Ready'), from: 'Succ' })
		expect(b.take()).toMatchObject([{ from: 'Succ', to: 'Ready' }])
	})
	it('drops what it has seen, whatever the order', () => {
		const b = new Batch()
		expect([
			b.add(change(5, 'a', 'Succ')),
			b.add(change(5, 'a', 'Succ')),
			b.add(change(4, 'a', 'Running')),
			b.add(change(9007199254740993, 'a', 'Ready')),
		]).toEqual([true, false, false, true])
		expect(b.dropped).toBe(2)
	})
	it('changes only rows it names, and none that are newer', () => {
		const rows = [
			{ id: 'a', state: 'Ready', last_number: '10' },
			{ id: 'b', state: 'Ready', last_number: '99' },
		]
		const next = patch(rows, [change(11, 'a', 'Running'), change(12, 'b', 'Running')])
		expect(next.map(r => r.state)).toEqual(['Running', 'Ready'])
		expect(next[1]).toBe(rows[1])
		expect(patch(rows, [change(11, 'z', 'Running')])).toBe(rows)
	})
})
