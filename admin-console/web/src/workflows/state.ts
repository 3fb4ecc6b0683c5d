/* The list of workflows: each with what its tasks say of it. Pure. */
import type { Document, Task } from '@/api/client'
import type { Kind } from '@/domain/states'

export interface Row {
	doc: Document
	tasks: Task[]
	project: string
	state: 'online' | 'partly' | 'offline'
	owners: string
	frozen: number
	aside: boolean
	types: string
}

const each = (words: (string | null | undefined)[]) => [...new Set(words.filter(Boolean))].join(', ')

/* Of a workflow, by its tasks. */
export function onlineOf(tasks: readonly Pick<Task, 'state'>[]): Row['state'] {
	const online = tasks.filter(k => k.state === 'online').length
	return online === 0 ? 'offline' : online < tasks.length ? 'partly' : 'online'
}

function rowOf(doc: Document, tasks: Task[]): Row {
	return {
		doc,
		tasks,
		project: doc.name.split('/')[0]!,
		state: onlineOf(tasks),
		owners: each(tasks.map(k => k.owner)),
		frozen: tasks.filter(k => k.frozen).length,
		aside: tasks.some(k => k.quarantined),
		types: each(tasks.map(k => k.type)),
	}
}

/* What is retired is no more; by name. */
export function rowsOf(docs: readonly Document[], tasks: readonly Task[]): Row[] {
	const of = new Map<number, Task[]>()
	for (const k of tasks)
		if (k.state !== 'retired') {
			const l = of.get(k.workflow_id!)
			if (l) l.push(k)
			else of.set(k.workflow_id!, [k])
		}
	return docs
		.filter(d => !d.retired)
		.map(d => rowOf(d, of.get(d.id) ?? []))
		.sort((a, b) => a.doc.name.localeCompare(b.doc.name))
}

const failing = new Set<Kind | ''>(['failed', 'retry', 'hanged', 'killed'])
/* `show`: a state, or `failing`: those whose last run is in trouble. */
export const narrowed = (rows: readonly Row[], project: string, show: string, last: (r: Row) => Kind | ''): Row[] =>
	rows.filter(
		r =>
			(!project || r.project === project) && (!show || (show === 'failing' ? failing.has(last(r)) : r.state === show)),
	)
