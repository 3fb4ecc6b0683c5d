/* Lineage as a graph to draw: each node's worst state, and what is said beside its name. Pure. */
import type { Schemas } from '@/api/client'
import type { Graph } from '@/graph/model'
import { countsKind, type Kind } from './states'

export type Lineage = Schemas['Lineage']
export type LineageNode = Schemas['LineageNode']

export const total = (n: LineageNode) => Object.values(n.states).reduce((a, b) => a + b, 0)
export const kindOfNode = (n: LineageNode): Kind | null => (total(n) ? countsKind(n.states, n.forced ?? 0) : null)
export const ended = (n: LineageNode) =>
	(n.states.Succ ?? 0) + (n.states.Skipped ?? 0) + (n.states.StopSchedule ?? 0) + (n.states.Killed ?? 0)

/* The name as short as it may be: of the same project (workflow), only what differs. */
export function labelOf(name: string, of: string): string {
	const a = name.split('/'),
		b = of.split('/')
	let same = 0
	while (same < a.length - 1 && same < b.length - 1 && a[same] === b[same]) same++
	return a.slice(same).join('/')
}

export function graphOf(l: Lineage): Graph {
	const byId = new Map(l.nodes.map(n => [n.id, n.name]))
	return {
		nodes: l.nodes.map(n => ({ id: n.name, label: labelOf(n.name, l.of), note: n.type ?? '' })),
		edges: l.links.flatMap(e => {
			const from = byId.get(e.from),
				to = byId.get(e.to)
			return from && to ? [{ from, to }] : []
		}),
	}
}

/* How far past its due time what has not ended is, ms; 0: nothing is. */
export const overdue = (n: LineageNode, now: number) => (n.due ? Math.max(0, now - Date.parse(n.due)) : 0)
