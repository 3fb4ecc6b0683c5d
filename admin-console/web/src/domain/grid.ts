/* Tasks by runs: the server's letters as kinds, pages of runs put together, what a change does to
 * them, and a block of cells as a selection. Pure. */
import type { Schemas } from '@/api/client'
import type { Change } from '@/live/reducer'
import { countsKind, kindOf, type Kind } from './states'
import { short } from './taskgraph'

export type GridRun = Schemas['GridRun']
export type Grid = Schemas['Grid']

const letters: Record<string, Kind> = {
	h: 'hanged',
	x: 'failed',
	w: 'killing',
	k: 'killing',
	K: 'killed',
	t: 'retry',
	R: 'running',
	q: 'queued',
	z: 'frozen',
	r: 'ready',
	f: 'forced',
	s: 'succ',
	p: 'skipped',
	'~': 'rough',
}
const letterOf: Partial<Record<Kind, string>> = Object.fromEntries(Object.entries(letters).map(([l, k]) => [k, l]))
export const kindAt = (cells: string, at: number): Kind | null => letters[cells[at] ?? '.'] ?? null

export interface Column {
	label: string
	from: number
	to: number
	cells: string
	took: readonly number[]
	many: ReadonlyMap<number, number>
	kind: Kind
	run: GridRun
}

export function column(r: GridRun): Column {
	const many = new Map<number, number>()
	for (let i = 0; i + 1 < r.many.length; i += 2) many.set(r.many[i]!, r.many[i + 1]!)
	return {
		label: r.label,
		from: Date.parse(r.from),
		to: Date.parse(r.to),
		cells: r.cells,
		took: r.took_ms,
		many,
		kind: countsKind(r.states, r.forced),
		run: r,
	}
}

/* Runs of several answers, oldest first; of one that is in two the later answer counts. */
export function joined(...pages: (readonly Column[])[]): Column[] {
	const by = new Map<string, Column>()
	for (const page of pages) for (const c of page) by.set(c.label, c)
	return [...by.values()].sort((a, b) => a.from - b.from)
}

/* The same array when nothing is shown otherwise. What the stream does not tell (cells of several
 * instances, durations) is asked for again: `stale` has the run's `to`; of a run nobody has seen
 * yet, Infinity. */
export function patched(
	cols: readonly Column[],
	taskAt: ReadonlyMap<number, number>,
	changes: Iterable<Change>,
): { cols: readonly Column[]; stale: Set<number> } {
	const stale = new Set<number>()
	let out: Column[] | undefined
	for (const c of changes) {
		const row = taskAt.get(c.task_id)
		if (row === undefined || !c.to || c.part !== 0) continue
		const at = Date.parse(c.run_date)
		const n = find(cols, at)
		if (n < 0) {
			if (!cols.length || at >= cols[cols.length - 1]!.to) stale.add(Infinity)
			continue
		}
		const col = (out ?? cols)[n]!
		const kind = kindOf({ state: c.to })
		stale.add(col.to) /* how long it took, the run's times, what a person decided */
		if (col.many.has(row)) continue
		out ??= cols.slice()
		out[n] = { ...col, cells: col.cells.slice(0, row) + (letterOf[kind] ?? 'r') + col.cells.slice(row + 1) }
	}
	return { cols: out ?? cols, stale }
}

function find(cols: readonly Column[], at: number): number {
	let low = 0,
		high = cols.length - 1
	while (low <= high) {
		const mid = (low + high) >> 1,
			c = cols[mid]!
		if (at < c.from) high = mid - 1
		else if (at >= c.to) low = mid + 1
		else return mid
	}
	return -1
}

/* --- rows --- */

export type Row = { head: number; n: number } | { task: string; label: string; at: number }
export const isTask = (r: Row | undefined): r is { task: string; label: string; at: number } => !!r && 'task' in r

const loud = new Set<Kind>(['hanged', 'failed', 'retry', 'killed', 'killing'])

/* By depth, with a head for each; filtered by name, or to those that had trouble. */
export function rows(
	tasks: readonly { task: string; task_id: number; state: string; depth: number }[],
	ids: readonly number[],
	cols: readonly Column[],
	find: string,
	trouble: boolean,
): Row[] {
	const at = new Map(ids.map((id, i) => [id, i]))
	const wanted = find.trim().toLowerCase()
	const out: Row[] = []
	const sorted = tasks.filter(t => at.has(t.task_id)).sort((a, b) => a.depth - b.depth || a.task.localeCompare(b.task))
	let head: { head: number; n: number } | undefined
	for (const t of sorted) {
		const place = at.get(t.task_id)!
		if (wanted && !t.task.toLowerCase().includes(wanted)) continue
		if (t.state === 'retired' && !cols.some(c => kindAt(c.cells, place))) continue
		if (trouble && !cols.some(c => loud.has(kindAt(c.cells, place) ?? 'succ'))) continue
		if (!head || head.head !== t.depth) {
			head = { head: t.depth, n: 0 }
			out.push(head)
		}
		head.n++
		out.push({ task: t.task, label: short(t.task), at: place })
	}
	return out
}

/* --- a block --- */

export interface Block {
	r0: number
	r1: number
	c0: number
	c1: number
}
export const blockOf = (a: { r: number; c: number }, b: { r: number; c: number }): Block => ({
	r0: Math.min(a.r, b.r),
	r1: Math.max(a.r, b.r),
	c0: Math.min(a.c, b.c),
	c1: Math.max(a.c, b.c),
})

export interface Chosen {
	tasks: string[]
	columns: Column[]
	kinds: Map<Kind, number>
	cells: number
}

export function chosen(block: Block, all: readonly Row[], cols: readonly Column[]): Chosen {
	const picked = all.slice(block.r0, block.r1 + 1).filter(isTask),
		columns = cols.slice(block.c0, block.c1 + 1)
	const kinds = new Map<Kind, number>()
	let cells = 0
	for (const r of picked)
		for (const c of columns) {
			const kind = kindAt(c.cells, r.at)
			if (!kind) continue
			cells++
			kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
		}
	return { tasks: picked.map(r => r.task), columns, kinds, cells }
}

/* What the server is asked to act on: whole runs of whole tasks. `to` is the last run_date meant. */
export function selection(c: Chosen, states?: string[]): Record<string, unknown> {
	const first = c.columns[0]!,
		last = c.columns[c.columns.length - 1]!
	const text = (ms: number) => new Date(ms).toISOString().replace('.000', '')
	return { tasks: c.tasks, from: text(first.from), to: text(last.to - 1000), ...(states ? { states } : {}) }
}

/* Months, or days of runs smaller than a day, over the columns they span. */
export function spans(cols: readonly Column[], cycle: number): { at: number; n: number; key: string }[] {
	const out: { at: number; n: number; key: string }[] = []
	const length = cycle < 86400 ? 10 : 7
	cols.forEach((c, at) => {
		const key = c.label.slice(0, length),
			last = out[out.length - 1]
		if (last && last.key === key) last.n++
		else out.push({ at, n: 1, key })
	})
	return out
}
