/* What became different between two documents, and the three-way merge of two people's changes:
 * by key of the head and by key of a task. Pure. */
import { EditorDoc } from './doc'
import { beforeOf } from './flow'
import type { Map1, TaskView, Value } from './parts'

export type Change = 'added' | 'removed' | 'changed'
export interface TaskChange {
	name: string
	change: Change
	keys: { key: string; was: string; is: string }[]
}

export const same = (a: Value | undefined, b: Value | undefined): boolean =>
	JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
function sorted(v: Value | undefined): unknown {
	if (Array.isArray(v)) return v.map(sorted)
	if (v && typeof v === 'object')
		return Object.fromEntries(
			Object.keys(v)
				.sort()
				.map(k => [k, sorted(v[k])]),
		)
	return v ?? ''
}
export function words(v: Value | undefined): string {
	if (v === undefined) return ''
	if (typeof v === 'string') return v
	if (Array.isArray(v)) return v.map(words).join(', ')
	return Object.entries(v)
		.map(([k, x]) => `${k}: ${words(x)}`)
		.join(', ')
}

function flat(json: Map1): Map1 {
	const out: Map1 = {}
	for (const [k, v] of Object.entries(json)) {
		if (k === 'params' && v && typeof v === 'object' && !Array.isArray(v))
			for (const [p, x] of Object.entries(v)) out[`params.${p}`] = x
		else out[k] = v
	}
	return out
}

function keys(was: Map1, is: Map1) {
	const a = flat(was),
		b = flat(is)
	return [...new Set([...Object.keys(a), ...Object.keys(b)])]
		.filter(k => !same(a[k], b[k]))
		.map(key => ({ key, was: words(a[key]), is: words(b[key]) }))
}

/* What there is to say of a task; of a step also where in the row it stands. */
function facts(d: EditorDoc, t: TaskView): Map1 {
	const before = d.isPipeline ? beforeOf(d, t.name) : null
	return before === null ? t.json : { ...t.json, after: before }
}
const headOf = (d: EditorDoc): Map1 => Object.fromEntries(d.headKeys.map(k => [k, d.head(k)!]))

export interface Diff {
	head: { key: string; was: string; is: string }[]
	tasks: TaskChange[]
}

/* Pairs that were seen to say the same: most tasks of a large document, at every step. */
const known = new WeakMap<object, object>()

export function diff(was: EditorDoc, is: EditorDoc): Diff {
	const tasks: TaskChange[] = []
	for (const t of is.tasks) {
		const old = was.task(t.name)
		if (old && known.get(t) === old) continue
		if (!old) tasks.push({ name: t.name, change: 'added', keys: keys({}, facts(is, t)) })
		else {
			const k = keys(facts(was, old), facts(is, t))
			if (k.length) tasks.push({ name: t.name, change: 'changed', keys: k })
			else known.set(t, old)
		}
	}
	for (const t of was.tasks) if (!is.task(t.name)) tasks.push({ name: t.name, change: 'removed', keys: [] })
	return { head: keys(headOf(was), headOf(is)), tasks }
}
export const count = (d: Diff) => d.tasks.length + d.head.length

/* One thing that both may have changed. `task` null: of the workflow; `key` '': the whole task. */
export interface Part {
	id: string
	task: string | null
	key: string
	base?: Value
	mine?: Value
	theirs?: Value
	by: 'mine' | 'theirs' | 'both' | 'conflict'
}

const compare = (task: string | null, base: Map1, mine: Map1, theirs: Map1): Part[] => {
	const a = flat(base),
		m = flat(mine),
		t = flat(theirs),
		out: Part[] = []
	for (const key of new Set([...Object.keys(a), ...Object.keys(m), ...Object.keys(t)])) {
		const mineNew = !same(a[key], m[key]),
			theirsNew = !same(a[key], t[key])
		if (!mineNew && !theirsNew) continue
		out.push({
			id: `${task ?? ''}/${key}`,
			task,
			key,
			base: a[key],
			mine: m[key],
			theirs: t[key],
			by: mineNew && theirsNew ? (same(m[key], t[key]) ? 'both' : 'conflict') : mineNew ? 'mine' : 'theirs',
		})
	}
	return out
}

export function threeWay(base: EditorDoc, mine: EditorDoc, theirs: EditorDoc): Part[] {
	const parts = compare(null, headOf(base), headOf(mine), headOf(theirs))
	const of = (d: EditorDoc, k?: TaskView) => k && facts(d, k)
	const names = new Set([...base.tasks, ...mine.tasks, ...theirs.tasks].map(t => t.name))
	for (const name of names) {
		const b = base.task(name),
			m = mine.task(name),
			t = theirs.task(name)
		if (m && t) parts.push(...compare(name, of(base, b) ?? {}, of(mine, m)!, of(theirs, t)!))
		else {
			const mineNew = b ? !m || !same(b.json, m.json) : !!m,
				theirsNew = b ? !t || !same(b.json, t.json) : !!t
			if (!mineNew && !theirsNew) continue
			if (!m && !t) parts.push({ id: `${name}/`, task: name, key: '', base: of(base, b), by: 'both' })
			else
				parts.push({
					id: `${name}/`,
					task: name,
					key: '',
					base: of(base, b),
					mine: of(mine, m),
					theirs: of(theirs, t),
					by: mineNew && theirsNew ? 'conflict' : mineNew ? 'mine' : 'theirs',
				})
		}
	}
	return parts
}

/* Theirs with mine put in: what only I changed, and what was chosen to be mine. Comments of theirs stay. */
export function merged(theirs: EditorDoc, parts: readonly Part[], choose: (p: Part) => 'mine' | 'theirs'): string {
	const out = new EditorDoc(theirs.text),
		row = theirs.isPipeline
	out.apply('merge', d => {
		const mine = parts.filter(p => p.by !== 'theirs' && p.by !== 'both' && choose(p) === 'mine'),
			moves = mine.filter(p => row && p.task !== null && p.key === 'after')
		for (const p of mine) {
			if (moves.includes(p)) continue
			const path = p.key.startsWith('params.') ? ['params', p.key.slice(7)] : [p.key]
			if (p.task === null) d.setHead(path, p.mine)
			else if (p.key) d.setTask(p.task, path, p.mine)
			else if (p.mine === undefined) d.removeTasks(new Set([p.task]))
			else {
				if (out.task(p.task)) d.removeTasks(new Set([p.task]))
				const { after, ...json } = p.mine as Map1
				if (row) d.addTask(p.task, json, after === undefined ? undefined : words(after))
				else d.addTask(p.task, p.mine as Map1)
			}
		}
		/* When all are there that one can come behind. */
		for (const p of moves) d.moveStep(p.task!, words(p.mine))
	})
	return out.text
}
