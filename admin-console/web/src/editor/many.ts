/* One change over several tasks, whatever their types: which fields, and what it does to the document. Pure. */
import type { Draft } from './change'
import type { EditorDoc } from './doc'
import type { Map1, Value } from './parts'

export interface Field {
	key: string
	path: [string, ...string[]]
	options?: readonly string[]
	hint?: string
	number?: boolean
}

/* Of a step of a pipeline. */
export const stepFields: readonly Field[] = [
	{ key: 'pipe.timeout', path: ['timeout'], hint: '30s' },
	{ key: 'pipe.retries', path: ['retries'], number: true, hint: '2' },
	{ key: 'pipe.interval', path: ['interval'], hint: '5s' },
	{ key: 'pipe.user', path: ['user'] },
	{ key: 'pipe.directory', path: ['directory'], hint: '/srv' },
]

export const fields: readonly Field[] = [
	{ key: 'priority', path: ['priority'], number: true, hint: '5' },
	{ key: 'owner', path: ['owner'] },
	{ key: 'state', path: ['state'], options: ['online', 'draft', 'offline', 'frozen'] },
	{ key: 'cycle', path: ['cycle'], hint: 'day' },
	{ key: 'cron', path: ['cron'], hint: '0 30 2 * * ?' },
	{ key: 'offset', path: ['offset'], hint: '2h30m' },
	{ key: 'calendar', path: ['calendar'] },
	{ key: 'attempts', path: ['retry', 'attempts'], number: true, hint: '3' },
	{ key: 'delay', path: ['retry', 'delay'], hint: '1m' },
	{ key: 'backoff', path: ['retry', 'backoff'], options: ['fixed', 'exponential'] },
	{ key: 'alive', path: ['alive_wait'], hint: '2h' },
	{ key: 'late', path: ['late_after'], hint: '15m' },
	{ key: 'expire', path: ['expire_after'], hint: '20h' },
	{ key: 'group', path: ['group'] },
	{ key: 'concurrency', path: ['concurrency'], number: true },
	{ key: 'pools', path: ['pools'], hint: 'dw_slots: 2' },
	{ key: 'serial', path: ['serial'], options: ['parallel', 'ordered', 'unordered'] },
	{ key: 'overlap', path: ['overlap'], options: ['allow', 'skip', 'queue', 'replace'] },
	{ key: 'catchup', path: ['catchup', 'mode'], options: ['all', 'latest', 'none'] },
]

/* What one of them would contradict goes with it. */
const drops: Record<string, readonly string[]> = { cycle: ['cron'], cron: ['cycle', 'fire', 'offset'] }

/* Nothing written: as the defaults say. Pools are `name: how many`, one after the other. */
export function valueOf(f: Field, text: string): Value | undefined {
	const v = text.trim()
	if (!v) return undefined
	if (f.key !== 'pools') return v
	const pools: Map1 = {}
	for (const part of v.split(',')) {
		const [name, n] = part.split(':').map(x => x.trim())
		if (name) pools[name] = n || '1'
	}
	return pools
}

export function at(json: Map1, path: readonly string[]): Value | undefined {
	let v: Value | undefined = json
	for (const k of path) v = v && typeof v === 'object' && !Array.isArray(v) ? v[k] : undefined
	return v
}

const same = (a: Value | undefined, b: Value | undefined) => JSON.stringify(a) === JSON.stringify(b)

/* Those it would change: for the others there is nothing to do, and no step to undo. */
export function touched(doc: EditorDoc, names: ReadonlySet<string>, f: Field, v: Value | undefined): string[] {
	const other = v === undefined ? [] : (drops[f.key] ?? [])
	return doc.tasks
		.filter(t => names.has(t.name) && (!same(at(t.json, f.path), v) || other.some(k => t.json[k] !== undefined)))
		.map(t => t.name)
}

export function changeMany(d: Draft, tasks: readonly string[], f: Field, v: Value | undefined) {
	for (const name of tasks) {
		if (v !== undefined) for (const k of drops[f.key] ?? []) d.setTask(name, [k], undefined)
		d.setTask(name, f.path, v)
	}
}

/* What all of them say; undefined where they differ. */
export function common(doc: EditorDoc, names: ReadonlySet<string>, f: Field): { value: Value | undefined } | undefined {
	const all = doc.tasks.filter(t => names.has(t.name)).map(t => at(t.json, f.path))
	return all.length && all.every(v => same(v, all[0])) ? { value: all[0] } : undefined
}
