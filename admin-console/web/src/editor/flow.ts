/* What hands do to the order of a pipeline: one thing after another, and what its two ends wait for. Pure. */
import type { Draft } from './change'
import type { EditorDoc } from './doc'
import type { TaskView } from './parts'
import { isHook, isWeak } from './steps'

export const rowOf = (doc: EditorDoc): TaskView[] => doc.tasks.filter(t => !isHook(t.name))
/* '': the first; null: none of the row. */
export function beforeOf(doc: EditorDoc, name: string): string | null {
	const row = rowOf(doc),
		at = row.findIndex(t => t.name === name)
	return at < 0 ? null : (row[at - 1]?.name ?? '')
}

const strong = (d: Draft, name: string, on: boolean) => d.setTask(name, ['dependence'], on ? undefined : 'weak')

/* `to` comes right after `from`; to `failed`: a failure of `from` runs it. Why not, or what to do. */
export function follow(doc: EditorDoc, from: string, to: string): 'last' | 'there' | ((d: Draft) => void) {
	const step = doc.task(from),
		row = rowOf(doc)
	if (isHook(from) || !step) return 'last'
	if (to === 'failed') return isWeak(step.json) ? d => strong(d, from, true) : 'there'
	if (to === 'finished')
		return row[row.length - 1] === step ? 'there' : d => d.moveStep(from, row[row.length - 1]!.name)
	return beforeOf(doc, to) === from ? 'there' : d => d.moveStep(to, from)
}

/* A wire away: the failure of a step runs `failed` no more, the pipeline goes on after it; a row stays a row. */
export function unfollow(doc: EditorDoc, task: string, need: number): 'row' | ((d: Draft) => void) {
	const from = doc.task(task)?.needs[need]?.task
	if (task === 'failed' && from) return d => strong(d, from, false)
	return task === 'finished' ? d => d.removeTasks(new Set([task])) : 'row'
}

/* Steps that were dragged: behind the last of the others that stands left of them. */
export function reorder(doc: EditorDoc, names: ReadonlySet<string>, after: string): ((d: Draft) => void) | null {
	const row = rowOf(doc),
		moved = row.filter(t => names.has(t.name)).map(t => t.name),
		rest = row.filter(t => !names.has(t.name)).map(t => t.name)
	const at = rest.indexOf(after) + 1,
		next = [...rest.slice(0, at), ...moved, ...rest.slice(at)]
	if (!moved.length || next.every((n, i) => n === row[i]!.name)) return null
	return d => {
		let last = after
		for (const n of moved) {
			d.moveStep(n, last)
			last = n
		}
	}
}
