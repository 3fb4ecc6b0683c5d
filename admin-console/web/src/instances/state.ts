/* What the list of instances shows and what of it is picked. Pure. */
import type { Instance, InstanceFilter } from '@/api/client'
import type { Query } from '@/domain/query'

export const MOST = 2000 /* rows that one asks to see */
export const MANY = 20_000 /* instances that are acted on one by one, having no selection of their own */
const VIEWS = 20

export interface Named {
	id: number
	name: string
}
export interface View {
	name: string
	q: string
}

/* The query as the server takes it. */
export const filterOf = (q: Query, brokers: readonly Named[]): InstanceFilter => ({
	states: q.states.join(','),
	task: q.task,
	from: q.from,
	to: q.to,
	parts: q.parts,
	broker_id: q.broker ? brokers.find(b => b.name === q.broker)?.id : undefined,
})

type Line = Pick<Instance, 'id' | 'dates'>
/* Dates left out together are one line: they are acted on by a query, or one by one. */
export const rowKey = (r: Line) => (r.dates ? 'range ' : '') + r.id
export const everyId = (rows: readonly Line[]) => new Set(rows.filter(r => !r.dates).map(r => r.id))
export const allIn = (rows: readonly Line[], ids: ReadonlySet<string>) =>
	rows.length > 0 && rows.every(r => r.dates || ids.has(r.id))

/* Row n turned over; with `from`, all between become picked. */
export function turned(rows: readonly Line[], ids: ReadonlySet<string>, n: number, from?: number): Set<string> {
	const next = new Set(ids)
	const on = from !== undefined || !next.has(rows[n]!.id)
	for (const r of rows.slice(Math.min(from ?? n, n), Math.max(from ?? n, n) + 1))
		if (!r.dates) {
			if (on) next.add(r.id)
			else next.delete(r.id)
		}
	return next
}

/* Views that one keeps: the newest first, each query once. */
export const kept = (views: readonly View[], q: string): View[] =>
	[{ name: q, q }, ...forgotten(views, q)].slice(0, VIEWS)
export const forgotten = (views: readonly View[], q: string): View[] => views.filter(v => v.q !== q)

/* A column's head pressed: the latest first; pressed again, the other way round. */
export const orderNext = (same: boolean, order: string) => (same && order === 'desc' ? 'asc' : 'desc')
export const percent = (permille?: number) => (permille === undefined ? '' : Math.floor(permille / 10) + '%')
