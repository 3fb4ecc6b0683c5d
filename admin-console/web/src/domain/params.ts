/* Parameters of all and of projects: documents of lines, edited one by one; what else stands there stays. */
import { isMap, parseDocument } from 'yaml'

export interface Param {
	name: string
	value: string
}

const keyOf = (doc: ReturnType<typeof parseDocument>) => (doc.has('global') ? 'global' : 'parameters')

export function paramsOf(text: string): Param[] {
	const doc = parseDocument(text, { schema: 'failsafe' })
	const m = doc.errors.length ? null : doc.get(keyOf(doc))
	return isMap(m)
		? m.items.map(x => ({
				name: String(x.key),
				value: x.value === null || x.value === undefined ? '' : String(x.value),
			}))
		: []
}

/* `undefined` takes the name away. */
export function withParam(text: string, name: string, value: string | undefined): string {
	const doc = parseDocument(text, { schema: 'failsafe' }),
		key = keyOf(doc)
	const m = doc.get(key)
	if (value === undefined) {
		if (isMap(m)) m.delete(name)
	} else if (isMap(m)) m.set(name, value)
	else doc.set(key, doc.createNode({ [name]: value }))
	return String(doc)
}

export const emptyParams = (project: string) => (project ? `project: ${project}\nparameters: {}\n` : 'global: {}\n')
