/* The grid of runs and tasks as pure functions: reading letters, joining pages, patching by the stream, rows, blocks. */
import { describe, expect, it } from 'vitest'
import {
	blockOf,
	chosen,
	column,
	isTask,
	joined,
	kindAt,
	patched,
	rows,
	selection,
	spans,
	type GridRun,
} from '@/domain/grid'
import type { Change } from '@/live/reducer'

const run = (day: number, cells: string, many: number[] = []): GridRun => ({
	label: `2026-03-0${day}T00:00:00Z`,
	from: `2026-03-0${day}T00:00:00Z`,
	to: `2026-03-0${day + 1}T00:00:00Z`,
	total: cells.length,
	forced: 0,
	frozen: 0,
	started: null,
	ended: null,
	states: { Succ: cells.length },
	cells,
	took_ms: [...cells].map(() => 5),
	many,
})
const cols = [run(1, 'sxs'), run(2, 's.f', [0, 24]), run(3, 'rRq')].map(column)
const change = (task_id: number, run_date: string, to: string, part = 0) =>
	({
		task_id,
		run_date,
		to,
		part,
		number: '1',
		at: '',
		id: '',
		event: '',
		from: null,
		generation: 1,
		attempt: 1,
	}) as Change
const at = new Map([
	[11, 0],
	[12, 1],
	[13, 2],
])

describe('the grid', () => {
	it('reads a letter for each task, none where nothing was', () => {
		expect([0, 1, 2].map(i => kindAt(cols[0]!.cells, i))).toEqual(['succ', 'failed', 'succ'])
		expect([0, 1, 2].map(i => kindAt(cols[1]!.cells, i))).toEqual(['succ', null, 'forced'])
		expect(kindAt('s', 7)).toBe(null)
	})
	it('puts pages together oldest first, and the later answer counts', () => {
		const again = column(run(2, 'xxx'))
		expect(joined([cols[2]!], cols.slice(0, 2), [again]).map(c => c.cells)).toEqual(['sxs', 'xxx', 'rRq'])
	})
	it('shows a change at once, asks again for what the stream does not tell, and leaves other cells alone', () => {
		const got = patched(cols, at, [
			change(12, '2026-03-03T00:00:00Z', 'StopSchedule'),
			change(11, '2026-03-02T05:00:00Z', 'Running'),
		])
		expect(got.cols.map(c => c.cells)).toEqual(['sxs', 's.f', 'rxq'])
		expect([...got.stale]).toEqual([cols[2]!.to, cols[1]!.to])
		expect(got.cols[0]).toBe(cols[0])
	})
	it('asks for a run nobody has seen, and not for parts or tasks of others', () => {
		expect([...patched(cols, at, [change(11, '2026-03-04T00:00:00Z', 'Ready')]).stale]).toEqual([Infinity])
		const same = patched(cols, at, [
			change(11, '2026-03-03T00:00:00Z', 'Running', -1),
			change(99, '2026-03-03T00:00:00Z', 'Running'),
			change(11, '2026-02-01T00:00:00Z', 'Succ'),
		])
		expect(same.cols).toBe(cols)
		expect(same.stale.size).toBe(0)
	})
	const tasks = [
		{ task: 'p/w/b', task_id: 12, state: 'online', depth: 0 },
		{ task: 'p/w/a', task_id: 11, state: 'online', depth: 0 },
		{ task: 'p/w/c', task_id: 13, state: 'retired', depth: 1 },
		{ task: 'p/w/gone', task_id: 14, state: 'online', depth: 1 },
	]
	it('has rows by depth under heads, filtered by name or by trouble; a retired task stays while it has cells', () => {
		const all = rows(tasks, [11, 12, 13], cols, '', false)
		expect(all.map(r => (isTask(r) ? r.label : `#${r.head}:${r.n}`))).toEqual(['#0:2', 'a', 'b', '#1:1', 'c'])
		expect(
			rows(tasks, [11, 12, 13], cols, 'W/C', false)
				.filter(isTask)
				.map(r => r.label),
		).toEqual(['c'])
		expect(
			rows(tasks, [11, 12, 13], cols, '', true)
				.filter(isTask)
				.map(r => r.label),
		).toEqual(['b'])
		expect(
			rows(tasks, [11, 12, 13], [column(run(1, 'ss.'))], '', false)
				.filter(isTask)
				.map(r => r.label),
		).toEqual(['a', 'b'])
	})
	it('makes of a block the tasks, the dates and what is in it', () => {
		const all = rows(tasks, [11, 12, 13], cols, '', false),
			got = chosen(blockOf({ r: 4, c: 1 }, { r: 1, c: 0 }), all, cols)
		expect(got.tasks).toEqual(['p/w/a', 'p/w/b', 'p/w/c'])
		expect(got.cells).toBe(5)
		expect(Object.fromEntries(got.kinds)).toEqual({ succ: 3, failed: 1, forced: 1 })
		expect(selection(got, ['StopSchedule'])).toEqual({
			tasks: got.tasks,
			from: '2026-03-01T00:00:00Z',
			to: '2026-03-02T23:59:59Z',
			states: ['StopSchedule'],
		})
	})
	it('heads days with their month, hours with their day', () => {
		expect(spans(cols, 86400)).toEqual([{ at: 0, n: 3, key: '2026-03' }])
		expect(spans(cols, 3600).map(s => s.key)).toEqual(['2026-03-01', '2026-03-02', '2026-03-03'])
	})
})
