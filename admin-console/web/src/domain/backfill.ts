/* A backfill or a redo over dates: the form as an address and as a command, what it may take, and
 * how far each date is. Pure. */
import type { Item } from '@/api/client'
import { kindAt, type Column } from './grid'
import type { Kind } from './states'

export interface Form {
	kind: 'backfill' | 'redo'
	workflow: string
	tasks: string[] /* short names; none: all */
	from: string
	to: string
	every: string
	dependencies: 'inside' | 'all' | 'ignore'
	order: 'asc' | 'desc' | 'free'
	finished: 'redo' | 'leave'
	running: 'leave' | 'kill' | 'wait'
	parallel: string
	priority: string
	stop: boolean
	mode: 'self' | 'with_downstream' | 'downstream'
	body: 'current' | 'old'
}

const usual: Form = {
	kind: 'backfill',
	workflow: '',
	tasks: [],
	from: '',
	to: '',
	every: '',
	dependencies: 'inside',
	order: 'asc',
	finished: 'redo',
	running: 'leave',
	parallel: '',
	priority: '',
	stop: false,
	mode: 'self',
	body: 'current',
}
const choices: Partial<Record<keyof Form, readonly string[]>> = {
	kind: ['backfill', 'redo'],
	dependencies: ['inside', 'all', 'ignore'],
	order: ['asc', 'desc', 'free'],
	finished: ['redo', 'leave'],
	running: ['leave', 'kill', 'wait'],
	mode: ['self', 'with_downstream', 'downstream'],
	body: ['current', 'old'],
}

export function fromQuery(q: Record<string, unknown>): Form {
	const f = { ...usual } as Record<keyof Form, unknown>
	for (const key of Object.keys(usual) as (keyof Form)[]) {
		const v = q[key]
		if (typeof v !== 'string' || (choices[key] && !choices[key]!.includes(v))) continue
		f[key] = key === 'tasks' ? v.split(',').filter(Boolean) : key === 'stop' ? v === '1' : v
	}
	return f as unknown as Form
}

export function toQuery(f: Form): Record<string, string> {
	const out: Record<string, string> = {}
	for (const key of Object.keys(usual) as (keyof Form)[]) {
		const v = f[key],
			text = Array.isArray(v) ? v.join(',') : typeof v === 'boolean' ? (v ? '1' : '') : v
		if (text && text !== usual[key]) out[key] = text
	}
	return out
}

const day = /^\d{4}-\d\d-\d\d$/

/* What is missing or wrong, by field; nothing: the server may be asked. */
export function faults(f: Form): Partial<Record<keyof Form, 'needed' | 'order' | 'number'>> {
	const out: Partial<Record<keyof Form, 'needed' | 'order' | 'number'>> = {}
	if (!f.workflow) out.workflow = 'needed'
	if (!day.test(f.from)) out.from = 'needed'
	if (!day.test(f.to)) out.to = 'needed'
	else if (!out.from && f.to < f.from) out.to = 'order'
	if (f.parallel !== '' && !/^\d{1,6}$/.test(f.parallel)) out.parallel = 'number'
	if (f.priority !== '' && !/^([1-9]|10)$/.test(f.priority)) out.priority = 'number'
	return out
}

/* Bare dates are the task's own days, both included. */
export function args(f: Form): Record<string, unknown> {
	const selection: Record<string, unknown> = f.tasks.length
		? { tasks: f.tasks.map(t => `${f.workflow}/${t}`) }
		: { workflow: f.workflow }
	selection.from = f.from
	selection.to = f.to
	if (f.every) selection.every = [/^\d+$/.test(f.every) ? Number(f.every) : f.every]
	const out: Record<string, unknown> = { selection }
	if (f.priority) out.priority = Number(f.priority)
	if (f.kind === 'redo') return { ...out, mode: f.mode, running: f.running, body: f.body }
	return {
		...out,
		dependencies: f.dependencies,
		order: f.order,
		finished: f.finished,
		running: f.running === 'wait' ? 'leave' : f.running,
		...(f.parallel ? { parallel: Number(f.parallel) } : {}),
		...(f.stop ? { stop_on_failure: true } : {}),
	}
}

/* Tasks of a plan that are not in force: their dates are refused until somebody puts them online. */
export function asleep(
	refused: readonly { task?: string | null }[],
	tasks: readonly { task: string; state?: string }[],
): string[] {
	const no = new Set(refused.map(x => x.task))
	return tasks.filter(k => k.state !== undefined && k.state !== 'online' && no.has(k.task)).map(k => k.task)
}

/* How long it may take: the work of all, and that shared by as many as may run at once. */
export function estimate(
	tasks: readonly { task?: string; count: number }[],
	usualMs: ReadonlyMap<string, number>,
	parallel: number,
): { work: number; known: boolean } {
	let work = 0,
		known = tasks.length > 0
	for (const t of tasks) {
		const one = usualMs.get(t.task ?? '')
		if (one === undefined) known = false
		else work += one * t.count
	}
	return { work: parallel > 0 ? work / parallel : work, known }
}

/* --- how far each date is --- */

export interface DayProgress {
	label: string
	from: string
	asked: number
	refused: number
	kinds: Map<Kind, number>
	ended: number
	bad: number
}

const final = new Set<Kind>(['succ', 'forced', 'failed', 'killed', 'skipped'])
const wrong = new Set<Kind>(['failed', 'killed', 'hanged'])

export function progress(
	items: readonly Item[],
	grids: readonly { cols: readonly Column[]; taskAt: ReadonlyMap<number, number> }[],
): DayProgress[] {
	const days = new Map<string, DayProgress>()
	for (const it of items) {
		const at = Date.parse(it.run_date ?? '')
		let label = (it.run_date ?? '').slice(0, 10) + 'T00:00:00Z',
			from = it.run_date ?? '',
			kind: Kind | null = null
		for (const g of grids) {
			const row = g.taskAt.get(it.task_id ?? -1)
			const col = row === undefined ? undefined : g.cols.find(c => at >= c.from && at < c.to)
			if (col) {
				label = col.label
				from = col.run.from
				kind = kindAt(col.cells, row!)
			}
		}
		let d = days.get(label)
		if (!d) {
			d = { label, from, asked: 0, refused: 0, kinds: new Map(), ended: 0, bad: 0 }
			days.set(label, d)
		}
		if (it.code !== 'OK') {
			d.refused++
			continue
		}
		d.asked++
		const k = kind ?? 'ready'
		d.kinds.set(k, (d.kinds.get(k) ?? 0) + 1)
		if (final.has(k)) d.ended++
		if (wrong.has(k)) d.bad++
	}
	return [...days.values()].sort((a, b) => a.label.localeCompare(b.label))
}
