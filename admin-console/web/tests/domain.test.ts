/* What `src/domain/` says of states, times, queries, logs, runs and names: pure functions, no page, no server. */
import type { Graph } from '@/api/client'
import { criticalPath, drawn, titleOf, titlesOf } from '@/domain/taskgraph'
import { describe, expect, it } from 'vitest'
import { bare, level, pieces } from '@/domain/ansi'
import { rank } from '@/domain/fuzzy'
import { LogText } from '@/domain/log'
import { parse, selection, stateNames } from '@/domain/query'
import { runKind, runPath } from '@/domain/runs'
import { countsKind, kindOf, kinds, looks, states } from '@/domain/states'
import { label, moment, offset, runDate, span } from '@/domain/time'

const units = { d: 'd', h: 'h', min: 'min', s: 's', ms: 'ms' }

describe('titles', () => {
	const g = {
		workflow: 'p/w',
		workflow_id: 1,
		zone: 'UTC',
		cycle_s: 86400,
		tasks: [
			{ task_id: 1, task: 'p/w/gone', state: 'retired', workflow_title: 'as it was' },
			{ task_id: 2, task: 'p/w/load', type: 'sql', title: '装载', workflow_title: '日报' },
			{ task_id: 3, task: 'p/w/sum', type: 'noop', title: '', workflow_title: '日报' },
		],
		links: [],
	} as unknown as Graph
	it('stand under the ids in a graph, in place of the type', () => {
		expect(drawn(g).nodes.map(n => [n.label, n.note])).toEqual([
			['load', '装载'],
			['sum', 'noop'],
		])
	})
	it('are those of now', () => {
		expect(titleOf(g)).toBe('日报')
		expect(titleOf(undefined)).toBe('')
		expect(titlesOf(g).get('p/w/load')).toBe('装载')
	})
})

describe('states', () => {
	it('tell forced from success and frozen from waiting', () => {
		expect(kindOf({ state: 'Succ', flags: [] })).toBe('succ')
		expect(kindOf({ state: 'Succ', flags: ['forced'] })).toBe('forced')
		expect(kindOf({ state: 'Ready', flags: ['frozen'] })).toBe('frozen')
		expect(kindOf({ state: 'Running', flags: ['frozen'] })).toBe('running')
	})
	it('are as many as the server has, each with a look of its own', () => {
		expect(states).toHaveLength(12)
		const seen = new Set(kinds.map(k => JSON.stringify(looks[k])))
		expect(seen.size).toBe(kinds.length)
	})
	it('of many show the worst first', () => {
		expect(countsKind({ Succ: 20, StopSchedule: 1, Running: 3 })).toBe('failed')
		expect(countsKind({ Succ: 20, Running: 3 })).toBe('running')
		expect(countsKind({ Succ: 20 }, 1)).toBe('forced')
		expect(countsKind({ Succ: 20, Skipped: 2 })).toBe('succ')
	})
})

describe('time', () => {
	const at = '2026-03-01T16:30:05Z'
	it('is shown in the zone chosen, with the date where it is not today', () => {
		expect(moment(at, 'Asia/Shanghai', Date.parse('2026-03-02T03:00:00Z'))).toBe('00:30:05')
		expect(moment(at, 'UTC', Date.parse('2026-03-02T03:00:00Z'))).toBe('03-01 16:30:05')
		expect(moment(at, 'UTC', Date.parse('2027-03-02T03:00:00Z'))).toBe('2026-03-01 16:30:05')
		expect(moment(null, 'UTC')).toBe('')
	})
	it('shows midnight as a day alone', () => {
		expect(runDate('2026-03-01T00:00:00Z', 'UTC')).toBe('2026-03-01')
		expect(runDate('2026-03-01T16:00:00Z', 'Asia/Shanghai')).toBe('2026-03-02')
		expect(runDate('2026-03-01T05:00:00Z', 'UTC')).toBe('2026-03-01 05:00')
		expect(label('2026-03-01T05:00:00Z')).toBe('2026-03-01 05:00')
	})
	it('knows offsets, also of summer', () => {
		expect(offset('UTC')).toBe('+00:00')
		expect(offset('Europe/Berlin', new Date('2026-07-01T00:00:00Z'))).toBe('+02:00')
	})
	it('says spans in two parts', () => {
		expect(span(840, units)).toBe('840 ms')
		expect(span(3_640_000, units)).toBe('1 h')
		expect(span(3_900_000, units)).toBe('1 h 05 min')
		expect(span(200_000, units)).toBe('3 min 20 s')
		expect(span(3 * 86_400_000, units)).toBe('3 d')
	})
})

describe('the query bar', () => {
	const now = Date.parse('2026-03-02T00:00:00Z')
	it('takes the words of the screen and of the API', () => {
		expect(parse('state:failed').states).toEqual(['StopSchedule', 'Failed'])
		expect(parse('state:Ready,Running').states).toEqual(['Ready', 'Running'])
		expect(parse('状态：运行中').states).toEqual(['Running'])
	})
	it('takes dates and times ago', () => {
		expect(parse('since:24h', now).from).toBe('2026-03-01T00:00:00Z')
		expect(parse('date:2026-03-01', now)).toMatchObject({ from: '2026-03-01', to: '2026-03-01' })
	})
	it('names what it does not understand', () => {
		const q = parse('state:odd,failed colour:red since:never')
		expect([q.problems, q.unstated]).toEqual([['colour:red', 'never'], ['odd']])
		for (const word of stateNames) expect(parse('state:' + word).unstated).toEqual([])
	})
	it('makes a prefix of a free word', () => {
		expect(parse('retail').task).toBe('retail*')
		expect(parse('workflow:retail/trade').task).toBe('retail/trade/*')
	})
	it('gives a selection only where the server can take one', () => {
		expect(selection(parse('task:a/b/* state:failed date:2026-03-01', now))).toEqual({
			tasks: ['a/b/*'],
			states: ['StopSchedule', 'Failed'],
			from: '2026-03-01',
			to: '2026-03-01',
		})
		expect(selection(parse('state:failed'))).toBeUndefined()
		expect(selection(parse('ret'))).toBeUndefined()
	})
})

describe('a log', () => {
	it('becomes lines however it is cut', () => {
		const whole = 'one\ntwo\r\nthree é\n\nfive',
			l = new LogText()
		for (const c of whole) l.add(c)
		const m = new LogText()
		m.add(whole)
		expect(m.length).toBe(5)
		expect(l.length).toBe(5)
		expect(l.lines[2]).toBe('three é')
	})
	it('shows the last state of a progress bar', () => {
		const l = new LogText()
		l.add('10 %\r50 %\r100 %\ndone\n')
		expect(l.lines.slice(0, 2)).toEqual(['100 %', 'done'])
		expect(l.length).toBe(2)
	})
	it('finds forwards, backwards and around', () => {
		const l = new LogText()
		l.add('a\nb\na\n')
		const is = (s: string) => s === 'a'
		expect([l.find(is, -1), l.find(is, 0), l.find(is, 2), l.find(is, 2, -1)]).toEqual([0, 2, 0, 0])
		expect(l.find(s => s === 'z', 0)).toBe(-1)
	})
	it('cuts lines that are too long to draw', () => {
		const l = new LogText()
		l.add('x'.repeat(5000))
		expect(l.line(0).length).toBeLessThan(4200)
	})
	it('turns colours into looks and drops other escapes', () => {
		expect(pieces('\x1b[31mred\x1b[0m plain')).toEqual([
			{ text: 'red', look: 'ansi-red' },
			{ text: ' plain', look: '' },
		])
		expect(pieces('\x1b[1;38;5;2mx')).toEqual([{ text: 'x', look: 'ansi-green ansi-bold' }])
		expect(bare('\x1b]0;title\x07a\x1b[2Kb\x00')).toBe('ab')
	})
	it('knows errors by their words', () => {
		expect(level('ERROR boom')).toBe('error')
		expect(level('done, 0 errors')).toBe('')
		expect(level('WARN slow')).toBe('warning')
	})
})

describe('runs and names', () => {
	it('lead to their page', () => {
		expect(runPath('a/b', { label: '2026-03-01T00:00:00Z' })).toBe('/r/a/b/2026-03-01')
		expect(runPath('a/b', { label: '2026-03-01T05:00:00Z' })).toBe('/r/a/b/2026-03-01T05:00')
		expect(
			runKind({ label: '', from: '', to: '', total: 2, forced: 0, frozen: 0, states: { Succ: 1, Ready: 1 } }),
		).toBe('ready')
	})
	it('are found by letters in order, whole words first', () => {
		expect(rank('trade', ['x/extra_de', 'retail/trade_daily', 'tXrXaXdXe'], s => s)[0]).toBe('retail/trade_daily')
		expect(rank('rtd', ['retail/trade_daily', 'zzz'], s => s)).toEqual(['retail/trade_daily'])
	})
})

describe('the critical path', () => {
	const row = (task: string, started: string, ended: string | null, state = 'Succ') => ({
		task,
		kind: 'succ' as const,
		done: 1,
		instances: [{ id: task, task, task_id: 1, run_date: null, part: 0, state, started, ended }],
	})
	const edges = [
		{ from: 'a', to: 'c' },
		{ from: 'b', to: 'c' },
		{ from: 'c', to: 'd' },
	]
	it('goes back from what ended last, each time to the parent that ended last', () => {
		expect(
			criticalPath(
				[row('a', '01', '02'), row('b', '01', '05'), row('c', '05', '07'), row('d', '07', '08'), row('e', '01', '06')],
				edges,
			),
		).toEqual(['b', 'c', 'd'])
	})
	it('ends at what runs, and is nothing where nothing ran', () => {
		expect(
			criticalPath(
				[row('a', '01', '02'), row('b', '01', '03'), row('c', '03', null, 'Running'), row('e', '01', '09')],
				edges,
			),
		).toEqual(['b', 'c'])
		expect(criticalPath([{ task: 'a', kind: 'ready', done: 0, instances: [] }], edges)).toEqual([])
	})
})
