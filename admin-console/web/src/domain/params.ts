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

/* What a run may be given of its tasks' own params: those on one line that are no code, once a name, with the tasks that have it. */
export interface OwnParam extends Param {
	tasks: string[]
}
const code = ['script', 'command', 'sql', 'argv', 'body', 'code', 'file', 'where']
const LONG = 200

type Plain = Record<string, unknown>
const plainMap = (v: unknown): Plain => (v && typeof v === 'object' && !Array.isArray(v) ? (v as Plain) : {})

function tasksIn(doc: Plain): [string, Plain][] {
	if (Array.isArray(doc.steps)) return doc.steps.map(s => [String(plainMap(s).name ?? ''), plainMap(s)])
	return Object.entries(plainMap(doc.tasks)).map(([name, t]) => [name, plainMap(t)])
}

export function ownParams(text: string, task = ''): OwnParam[] {
	const read = parseDocument(text, { schema: 'failsafe' })
	if (read.errors.length) return []
	const shared = new Set(paramsOf(text).map(x => x.name)),
		out = new Map<string, OwnParam>()
	for (const [name, t] of tasksIn(plainMap(read.toJS()))) {
		if (task && name !== task) continue
		for (const [key, v] of Object.entries(plainMap(t.params))) {
			if (typeof v !== 'string' || code.includes(key) || shared.has(key) || v.includes('\n') || v.length > LONG)
				continue
			const was = out.get(key)
			if (!was) out.set(key, { name: key, value: v, tasks: [name] })
			else out.set(key, { ...was, value: was.value === v ? v : '', tasks: [...was.tasks, name] })
		}
	}
	return [...out.values()]
}
