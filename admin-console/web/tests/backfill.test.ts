/* The form of a backfill as pure functions: its address, its faults, what is sent, how long it may take, progress by date. */
import { describe, expect, it } from 'vitest'
import { args, asleep, estimate, faults, fromQuery, progress, toQuery } from '@/domain/backfill'
import { column } from '@/domain/grid'

const q = { workflow: 'p/w', from: '2026-03-01', to: '2026-03-31' }

describe('a backfill', () => {
	it('is its address, there and back, and what is usual is not in it', () => {
		const f = fromQuery({ ...q, tasks: 'a,b', parallel: '4', stop: '1', order: 'desc', mode: 'nonsense' })
		expect(f.tasks).toEqual(['a', 'b'])
		expect(f.mode).toBe('self')
		expect(fromQuery(toQuery(f))).toEqual(f)
		expect(toQuery(fromQuery(q))).toEqual(q)
	})
	it('wants a workflow and two dates in order', () => {
		expect(faults(fromQuery({}))).toEqual({ workflow: 'needed', from: 'needed', to: 'needed' })
		expect(faults(fromQuery({ ...q, to: '2026-02-01', parallel: 'x', priority: '11' }))).toEqual({
			to: 'order',
			parallel: 'number',
			priority: 'number',
		})
		expect(faults(fromQuery(q))).toEqual({})
	})
	it('asks the server for tasks or all of the workflow, and only for what its kind takes', () => {
		expect(args(fromQuery(q))).toEqual({
			selection: { workflow: 'p/w', from: q.from, to: q.to },
			dependencies: 'inside',
			order: 'asc',
			finished: 'redo',
			running: 'leave',
		})
		expect(args(fromQuery({ ...q, tasks: 'a', every: '1', parallel: '3', priority: '9', stop: '1' }))).toMatchObject({
			selection: { tasks: ['p/w/a'], every: [1] },
			parallel: 3,
			priority: 9,
			stop_on_failure: true,
		})
		expect(args(fromQuery({ ...q, kind: 'redo', mode: 'with_downstream', parallel: '3', running: 'wait' }))).toEqual({
			selection: { workflow: 'p/w', from: q.from, to: q.to },
			mode: 'with_downstream',
			running: 'wait',
			body: 'current',
		})
	})
	it('says how long it may take only when all of it was measured', () => {
		const usual = new Map([
			['a', 1000],
			['b', 500],
		])
		expect(
			estimate(
				[
					{ task: 'a', count: 3 },
					{ task: 'b', count: 2 },
				],
				usual,
				0,
			),
		).toEqual({ work: 4000, known: true })
		expect(
			estimate(
				[
					{ task: 'a', count: 3 },
					{ task: 'b', count: 2 },
				],
				usual,
				4,
			),
		).toEqual({ work: 1000, known: true })
		expect(estimate([{ task: 'c', count: 1 }], usual, 0).known).toBe(false)
	})
	it('names the tasks of a plan that are not in force', () => {
		const tasks = [
			{ task: 'a', state: 'online' },
			{ task: 'b', state: 'offline' },
			{ task: 'c', state: 'draft' },
			{ task: 'd', state: 'offline' },
		]
		expect(asleep([{ task: 'b' }, { task: 'b' }, { task: 'c' }, { task: 'e' }], tasks)).toEqual(['b', 'c'])
	})
	it('counts by date what was let go, refused, has ended and went wrong', () => {
		const run = (day: number, cells: string) =>
			column({
				label: `2026-03-0${day}T00:00:00Z`,
				from: `2026-02-2${day + 6}T16:00:00Z`,
				to: `2026-02-2${day + 7}T16:00:00Z`,
				total: 2,
				forced: 0,
				frozen: 0,
				started: null,
				ended: null,
				states: {},
				cells,
				took_ms: [],
				many: [],
			})
		const grids = [
			{
				cols: [run(2, 'Rs'), run(1, 'sx')],
				taskAt: new Map([
					[1, 0],
					[2, 1],
				]),
			},
		]
		const item = (task_id: number, run_date: string, code = 'OK') => ({ id: '', task_id, run_date, code })
		const got = progress(
			[
				item(1, '2026-02-28T16:00:00Z'),
				item(1, '2026-02-27T16:00:00Z'),
				item(2, '2026-02-27T16:00:00Z'),
				item(2, '2026-02-28T16:00:00Z', 'CONFLICT'),
			],
			grids,
		)
		expect(got.map(d => [d.label.slice(0, 10), d.asked, d.refused, d.ended, d.bad])).toEqual([
			['2026-03-01', 2, 0, 2, 1],
			['2026-03-02', 1, 1, 0, 0],
		])
	})
})
