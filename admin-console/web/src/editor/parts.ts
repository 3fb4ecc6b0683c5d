/* The words of the model: what a document is made of, and how one of its pairs is seen. Pure. */
import { isMap, isScalar, type Document, type Pair } from 'yaml'

export type Value = string | Value[] | { [key: string]: Value }
export type Map1 = { [key: string]: Value }
export interface Need {
	task: string
	depend?: string
	window?: string
	strategy?: string
	on?: string
	pass_after?: string
}
export interface Place {
	x: number
	y: number
}
export interface TaskView {
	name: string
	json: Map1
	needs: Need[]
}
export interface Fault {
	line: number
	column: number
	message: string
	path?: string
	hint?: string
	code?: string
	warning?: boolean
}

export interface State {
	doc: Document
	head: Pair[]
	tasks: Pair[]
	places: ReadonlyMap<string, Place>
	broken: string | null
}

export const options = { schema: 'failsafe', keepSourceTokens: false, prettyErrors: false, uniqueKeys: true } as const
/* What lib/sched/name judges in full: this finds mistakes while a person types. */
const nameLetters = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{M}\p{Nd}_.-]*$/u
const nameBytesMax = 64
export const nameRule = {
	test: (s: string) => nameLetters.test(s) && new TextEncoder().encode(s.normalize('NFC')).length <= nameBytesMax,
}

export const keyOf = (p: Pair) => String(isScalar(p.key) ? p.key.value : p.key)
export const find = (list: readonly Pair[], key: string) => list.findIndex(p => keyOf(p) === key)
export const text = (v: unknown): string => (v === null || v === undefined ? '' : String(v))

export function plain(v: unknown): Value {
	if (Array.isArray(v)) return v.map(plain)
	if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, plain(x)]))
	return text(v)
}

const views = new WeakMap<Pair, TaskView>()

export function viewOf(doc: Document, p: Pair): TaskView {
	let v = views.get(p)
	if (!v) {
		const json = isMap(p.value) ? (plain(p.value.toJS(doc)) as Map1) : {}
		const list = Array.isArray(json.needs) ? json.needs : []
		v = {
			name: keyOf(p),
			json,
			needs: list.map(n =>
				typeof n === 'string' ? { task: n } : ({ ...(n as Map1), task: text((n as Map1).task) } as Need),
			),
		}
		views.set(p, v)
	}
	return v
}

/* A document is a workflow of `tasks`, a map, or a pipeline of `steps`, a list. */
export const isPipeline = (head: readonly Pair[]): boolean => find(head, 'pipeline') >= 0
export const listKey = (head: readonly Pair[]): 'steps' | 'tasks' => (isPipeline(head) ? 'steps' : 'tasks')
