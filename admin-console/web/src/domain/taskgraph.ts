/* A workflow's tasks and links as a graph; instances of a run by task. */
import type { Graph as ApiGraph, Instance } from '@/api/client'
import type { Graph } from '@/graph/model'
import { kindOf, over, worst, type Kind } from './states'

export const short = (task: string) => task.slice(task.lastIndexOf('/') + 1)

/* What people see besides the ids: of the workflow, of its tasks by name. */
export const titleOf = (g: ApiGraph | null | undefined) =>
	g?.tasks.find(k => k.state !== 'retired')?.workflow_title ?? ''
export const titlesOf = (g: ApiGraph) => new Map(g.tasks.map(k => [k.task, k.title ?? '']))

/* Parents of other workflows stand in it as ghosts; a link to itself is no line. */
export function drawn(g: ApiGraph): Graph {
	const here = new Set(g.tasks.map(k => k.task))
	const nodes = g.tasks
		.filter(k => k.state !== 'retired')
		.map(k => ({ id: k.task, label: short(k.task), note: k.title || k.type }))
	const ghosts = new Map<string, { id: string; label: string; note: string; ghost: boolean }>()
	const edges = g.links
		.filter(l => l.parent && l.child)
		.map(l => {
			if (!here.has(l.parent!))
				ghosts.set(l.parent!, { id: l.parent!, label: l.parent!.split('/').slice(1).join('/'), note: '', ghost: true })
			return { from: l.parent!, to: l.child!, dashed: l.depend_type === 0 || l.on !== 'success' }
		})
	return { nodes: [...nodes, ...ghosts.values()], edges }
}

export interface TaskRow {
	task: string
	instances: Instance[]
	kind: Kind
	done: number
}

export function byTask(names: string[], instances: readonly Instance[]): TaskRow[] {
	const rows = new Map<string, Instance[]>(names.map(n => [n, []]))
	for (const i of instances)
		if (i.task) {
			const list = rows.get(i.task)
			if (list) list.push(i)
			else rows.set(i.task, [i])
		}
	return [...rows].map(([task, list]) => ({
		task,
		instances: list,
		kind: worst(list.map(kindOf)) ?? 'ready',
		done: list.filter(i => over(i.state)).length,
	}))
}

/* Which instance of a task is shown first: the one in trouble, the one that runs, the last. */
export function telling(list: Instance[]): Instance | undefined {
	const kind = worst(list.map(kindOf))
	return list.filter(i => kindOf(i) === kind).sort((a, b) => (b.run_date ?? '').localeCompare(a.run_date ?? ''))[0]
}

/* The tasks that the run waited for, one after another: back from the one that runs or ended last, each
 * time to the parent that ended last. */
export function criticalPath(rows: readonly TaskRow[], edges: readonly { from: string; to: string }[]): string[] {
	const at = new Map(rows.map(r => [r.task, r]))
	const last = (task: string, key: 'started' | 'ended') =>
		(at.get(task)?.instances ?? []).reduce<string>((a, i) => ((i[key] ?? '') > a ? i[key]! : a), '')
	const into = new Map<string, string[]>()
	for (const e of edges) {
		const l = into.get(e.to)
		if (l) l.push(e.from)
		else into.set(e.to, [e.from])
	}
	const most = (names: readonly string[], key: 'started' | 'ended') =>
		names.reduce<[string, string]>(
			(a, n) => {
				const v = last(n, key)
				return v > a[1] ? [n, v] : a
			},
			['', ''],
		)[0]
	const running = rows.filter(r => r.instances.some(i => i.state === 'Running')).map(r => r.task)
	const path: string[] = []
	for (
		let n = running.length
			? most(running, 'started')
			: most(
					rows.map(r => r.task),
					'ended',
				);
		n && !path.includes(n);
		n = most(into.get(n) ?? [], 'ended')
	)
		path.push(n)
	return path.reverse()
}
