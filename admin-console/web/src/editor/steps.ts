/* A pipeline's steps, which its document writes as a list in the order they run, seen as tasks: each a pair of its
 * name and what it says. Its hooks are keys of the head. Pure. */
import { isMap, isSeq, Pair, Scalar, YAMLSeq, type Document, type Node } from 'yaml'
import { find, viewOf, type Map1, type Need, type TaskView, type Value } from './parts'

export const hooks = ['finished', 'failed'] as const
export const isHook = (name: string | null | undefined): boolean => name === 'finished' || name === 'failed'

/* A step without a name of its own, or with one that is taken, is still one that can be pointed at. */
export function stepPairs(list: unknown): Pair[] {
	const taken = new Set<string>(hooks)
	return (isSeq(list) ? list.items : []).map((item, i) => {
		const said = isMap(item) ? item.get('name') : undefined
		let name = typeof said === 'string' ? said : ''
		if (!name || taken.has(name)) name = `${name}#${i + 1}`
		taken.add(name)
		return stepPair(name, item as Node)
	})
}
export const stepPair = (name: string, item: Node): Pair => new Pair(new Scalar(name), item) as Pair

export function stepSeq(was: unknown, steps: readonly Pair[]): YAMLSeq {
	const seq = new YAMLSeq()
	if (isSeq(was)) {
		seq.comment = was.comment
		seq.commentBefore = was.commentBefore
		seq.spaceBefore = was.spaceBefore
		seq.flow = was.flow && was.items.length > 0
	}
	seq.items = steps.map(p => p.value)
	if (!steps.length) seq.flow = true
	return seq
}

export const isWeak = (json: Map1): boolean => json.dependence === 'weak'

/* What follows what is the order; whether it must have been good is the word of the one before. */
export function stepViews(doc: Document, steps: readonly Pair[], head: readonly Pair[]): TaskView[] {
	const seen = (p: Pair, needs: Need[]): TaskView => {
		const { name, json } = viewOf(doc, p),
			rest = { ...json }
		delete rest.name
		return { name, json: rest, needs }
	}
	const on = (k: TaskView): Need => ({ task: k.name, ...(isWeak(k.json) ? { on: 'done' } : {}) })
	const all: TaskView[] = []
	for (const p of steps) all.push(seen(p, all.length ? [on(all[all.length - 1]!)] : []))
	const row = [...all]
	for (const h of hooks) {
		const at = find(head, h)
		if (at < 0) continue
		const strong = row.filter(k => !isWeak(k.json)).map((k): Need => ({ task: k.name, on: 'failure' }))
		all.push(seen(head[at]!, h === 'failed' ? strong : row.slice(-1).map(on)))
	}
	return all
}

/* The keys a task and a step have in common: what goes from one kind of document to the other. */
const shared = new Set(['type', 'title', 'description', 'params'])
export const carried = (json: Map1): Map1 =>
	Object.fromEntries(Object.entries(json).filter(([k]) => shared.has(k))) as { [key: string]: Value }
