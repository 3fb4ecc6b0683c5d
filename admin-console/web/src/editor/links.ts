/* What tasks have to do with each other: names as the server reads them, what is inherited, circles. Pure. */
import type { EditorDoc } from './doc'
import type { TaskView, Value } from './parts'

/* As the server reads a name of `needs`: of this workflow, or of another. */
export function inside(doc: EditorDoc, name: string): string | null {
	if (doc.task(name)) return name
	const parts = name.split('/'),
		last = parts.pop()!
	const flow = parts.pop(),
		project = parts.pop()
	return flow === doc.name && (project === undefined || project === doc.project) && doc.task(last) ? last : null
}

const inherited = new Set(['timezone', 'owner', 'calendar', 'calendar_on', 'shift', 'start_date', 'end_date', 'state'])
export function effective(doc: EditorDoc, t: TaskView | undefined, key: string): Value | undefined {
	const d = doc.head('defaults')
	return (
		t?.json[key] ??
		(d && typeof d === 'object' && !Array.isArray(d) ? d[key] : undefined) ??
		(inherited.has(key) ? doc.head(key) : undefined)
	)
}

/* Would an edge close a circle within one date? Links to earlier dates do not. */
export function closes(doc: EditorDoc, from: string, to: string): boolean {
	if (from === to) return true
	const todo = [from],
		seen = new Set<string>()
	for (let n = todo.pop(); n !== undefined; n = todo.pop()) {
		if (n === to) return true
		if (seen.has(n)) continue
		seen.add(n)
		for (const need of doc.task(n)?.needs ?? [])
			if (!need.depend?.startsWith('-') && !need.window) {
				const p = inside(doc, need.task)
				if (p) todo.push(p)
			}
	}
	return false
}
