/* A workflow under another name: its document with the schedule, the tasks and the links between them. Pure. */
import { isMap, parseDocument } from 'yaml'
import { nameRule } from './parts'

/* `full`: project/workflow. `offline`: whatever the document says, nothing of the copy runs until it is put online. */
export function copyOf(text: string, full: string, offline: boolean): string {
	const doc = parseDocument(text, { schema: 'failsafe', prettyErrors: false, uniqueKeys: true })
	const [project, name] = full.split('/')
	doc.set(doc.has('pipeline') ? 'pipeline' : 'workflow', name)
	doc.set('project', project)
	if (offline) {
		const tasks = doc.get('tasks'),
			defaults = doc.get('defaults')
		for (const m of [defaults, ...(isMap(tasks) ? tasks.items.map(p => p.value) : [])]) if (isMap(m)) m.delete('state')
		doc.set('state', 'offline')
	}
	return doc.toString({ lineWidth: 0 })
}

export const fullName = (s: string): boolean => {
	const p = s.split('/')
	return p.length === 2 && p.every(x => nameRule.test(x))
}

/* The first free of NAME_copy, NAME_copy2, ... */
export function freeCopy(name: string, taken: ReadonlySet<string>): string {
	let n = 1
	while (taken.has(name + '_copy' + (n > 1 ? n : ''))) n++
	return name + '_copy' + (n > 1 ? n : '')
}
