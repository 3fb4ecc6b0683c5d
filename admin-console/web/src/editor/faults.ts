/* Where the server's word on a document belongs: its paths, and the task they speak of. Pure. */
import type { EditorDoc } from './doc'
import type { Fault } from './parts'
import { isHook } from './steps'

/* '' is the whole. */
export function pathOf(doc: EditorDoc, task: string): string {
	if (!task) return ''
	if (!doc.isPipeline) return `tasks.${task}`
	return isHook(task) ? task : `steps[${doc.tasks.findIndex(t => t.name === task)}]`
}

/* Names have dots: the longest that fits. */
export function taskOfPath(doc: EditorDoc, path?: string): string | null {
	if (!path) return null
	let best: string | null = null
	if (doc.isPipeline) {
		const at = /^steps\[(\d+)\]/.exec(path)?.[1],
			word = path.split('.')[0]!
		return at !== undefined ? (doc.tasks[Number(at)]?.name ?? null) : isHook(word) && doc.task(word) ? word : null
	}
	if (!path.startsWith('tasks.')) return null
	const rest = path.slice(6)
	for (const { name } of doc.tasks)
		if ((rest === name || rest.startsWith(name + '.')) && name.length > (best?.length ?? -1)) best = name
	return best
}

/* What of the task a path speaks of. */
export const restOf = (doc: EditorDoc, task: string, path: string): string => path.slice(pathOf(doc, task).length + 1)

/* What is said of one of its fields; `deep`: or of anything in that. */
export function faultAt(faults: readonly Fault[], doc: EditorDoc, task: string, key: string, deep = false) {
	const path = task ? `${pathOf(doc, task)}.${key}` : key
	return faults.find(f => f.path === path || (deep && f.path?.startsWith(path + '.')))?.message
}
