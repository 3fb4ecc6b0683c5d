import { describe, expect, it } from 'vitest'
import type { Instance } from '@/api/client'
import { column, type GridRun, type Row } from '@/domain/grid'
import { moved, placed, seen, start, steps } from '@/grid/state'
import { nextFailed, summed, unknown, worst } from '@/run/state'

const rows: Row[] = [
	{ head: 0, n: 2 },
	{ task: 'p/w/a', label: 'a', at: 0 },
	{ task: 'p/w/b', label: 'b', at: 1 },
	{ head: 1, n: 1 },
	{ task: 'p/w/c', label: 'c', at: 2 },
]
const col = (label: string, cells: string) =>
	column({ label, from: label, to: label, cells, many: [], states: {} } as unknown as GridRun)
const cols = [col('2026-03-01T00:00:00Z', 'sxs'), col('2026-03-02T00:00:00Z', 'sss')]

describe('a step in the grid', () => {
	const go = (key: string, r: number, c: number) => moved(rows, 4, { r, c }, steps[key]!)
	it('goes over the heads of groups and stays inside', () => {
		expect(go('ArrowDown', 2, 1)).toEqual({ r: 4, c: 1 })
		expect(go('j', 4, 1)).toEqual({ r: 4, c: 1 })
		expect(go('ArrowUp', 1, 1)).toEqual({ r: 1, c: 1 })
		expect(go('PageUp', 4, 1)).toEqual({ r: 1, c: 1 })
		expect(go('PageDown', 1, 1)).toEqual({ r: 4, c: 1 })
	})
	it('goes along the runs, to their ends at once', () => {
		expect(go('ArrowRight', 1, 3)).toEqual({ r: 1, c: 3 })
		expect(go('Home', 1, 3)).toEqual({ r: 1, c: 0 })
		expect(go('End', 1, 0)).toEqual({ r: 1, c: 3 })
	})
	it('begins at the newest run of the first task', () => {
		expect(start(rows, 4)).toEqual({ r: 1, c: 3 })
		expect(start(rows, 0)).toBeNull()
		expect(start([{ head: 0, n: 0 }], 4)).toBeNull()
	})
	it('is found again by its address', () => {
		expect(placed('b@2026-03-02T00:00:00Z', 'p/w', rows, cols)).toEqual({ r: 2, c: 1 })
		expect(placed('b@2026-03-09T00:00:00Z', 'p/w', rows, cols)).toBeNull()
		expect(placed('', 'p/w', rows, cols)).toBeNull()
	})
	it('has a legend of what is there', () => {
		expect(Object.fromEntries(seen(rows, cols).map(x => [x.kind, x.n]))).toEqual({ failed: 1, succ: 5 })
	})
})

describe('a run', () => {
	const one = (state: string, started?: string, ended?: string, flags: string[] = []) =>
		({ state, started, ended, flags }) as unknown as Instance
	it('is summed: from the first start to the last end, which is one only when all have ended', () => {
		const a = one('Succ', '2026-03-01T02:00:00Z', '2026-03-01T03:00:00Z'),
			b = one('StopSchedule', '2026-03-01T01:00:00Z', '2026-03-01T02:00:00Z')
		expect(summed([a, b])).toMatchObject({
			total: 2,
			done: 2,
			kind: 'failed',
			times: { started: '2026-03-01T01:00:00Z', ended: '2026-03-01T03:00:00Z' },
		})
		expect(summed([a, one('Running', '2026-03-01T04:00:00Z')])).toMatchObject({ done: 1, times: { ended: null } })
		expect(summed([])).toMatchObject({ total: 0, times: { started: null, ended: null } })
	})
	it('of which nobody knows has the span its label says', () => {
		expect(unknown('2026-03-01', 86_400)).toEqual({
			label: '2026-03-01T00:00:00Z',
			from: '2026-03-01T00:00:00Z',
			to: '2026-03-02T00:00:00Z',
		})
		expect(unknown('2026-03-01T05:00', 3600).to).toBe('2026-03-01T06:00:00Z')
	})
	it('leads to what failed, then round', () => {
		const row = (task: string, kind: string) => ({ task, kind }) as never
		const all = [row('a', 'running'), row('b', 'failed'), row('c', 'succ'), row('d', 'killed')]
		expect(worst(all)).toMatchObject({ task: 'b' })
		expect(worst([row('a', 'running')])).toMatchObject({ task: 'a' })
		expect(nextFailed(all, 'b', 1)).toBe('d')
		expect(nextFailed(all, 'b', -1)).toBe('d')
		expect(nextFailed(all, null, 1)).toBe('b')
		expect(nextFailed([row('c', 'succ')], 'c', 1)).toBeNull()
	})
})
