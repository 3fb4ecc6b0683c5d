/* The document as cards and wires, and where they stand. Pure. */
import type { Kind } from '@/domain/states'
import { editSize, type Card, type Wire } from '@/graph/board'
import { FAR, layOut, type Layout } from '@/graph/layout'
import { Model } from '@/graph/model'
import type { EditorDoc } from './doc'
import { effective, inside } from './links'
import type { Need, Place, TaskView, Value } from './parts'
import { hooks } from './steps'
import type { Diff } from './diff'
import { rowOf } from './flow'
import { picture } from './kinds'

const seconds: Record<string, number> = { minute: 60, hour: 3600, day: 86400, week: 604800 }
const long: Record<string, number> = { month: 2629746, year: 31556952 }

export function cycleOf(doc: EditorDoc, t: TaskView | undefined): { unit: string; step: number } {
	const v = effective(doc, t, 'cycle')
	if (typeof v !== 'string') return { unit: effective(doc, t, 'cron') ? 'cron' : '', step: 1 }
	const m = /^(?:(\d+)\s+)?(\w+)$/.exec(v.trim())
	return m ? { unit: m[2]!, step: Number(m[1] ?? 1) } : { unit: v, step: 1 }
}

/* What stands on a wire: how many of the parent one of the child waits for, where that is not one. */
export function ratio(doc: EditorDoc, parent: TaskView | undefined, child: TaskView, n: Need): string {
	if (n.depend?.startsWith('-')) return n.depend.replace('-', '−')
	if (n.window) return n.window.length > 14 ? '[…]' : n.window
	const a = cycleOf(doc, parent),
		b = cycleOf(doc, child)
	const sa = seconds[a.unit] ? seconds[a.unit]! * a.step : 0,
		sb = seconds[b.unit] ? seconds[b.unit]! * b.step : 0
	if (parent && sa && sb && sa !== sb)
		return sb > sa ? `${sb % sa ? '≈' : ''}${Math.round(sb / sa)} : 1` : `1 : ${Math.round(sa / sb)}`
	if (parent && sa && long[b.unit]) return `${b.unit === 'month' ? '28–31' : '365'}${sa === 86400 ? '' : '…'} : 1`
	return ''
}

/* `waits`: a large one that nobody placed; where its cards stand is worked out beside the page and handed in as `laid`. */
export interface Scene {
	cards: Card[]
	wires: Wire[]
	of: { task: string; need: number }[]
	xs: Float64Array
	ys: Float64Array
	waits: Waits | null
}
export interface Waits {
	model: Model
	shape: string
}
export interface Laid {
	shape: string
	layout: Layout
}
export interface Marks {
	faults: ReadonlyMap<string, 'error' | 'warning'>
	diff: Diff | null
	was: EditorDoc | null
	/* of a run of it */ states?: ReadonlyMap<string, Kind>
	found: ReadonlySet<string>
	note: (t: TaskView) => string
	on: (what: string) => string
	outside: string
	hooks: string
}

const textOf = (v: Value | undefined) => (typeof v === 'string' ? v : '')

/* What a scene is collected in: a card for each id, and whose need each wire is. */
class Collected {
	readonly cards: Card[] = []
	readonly wires: Wire[] = []
	readonly of: Scene['of'] = []
	private index = new Map<string, number>()

	has(id: string) {
		return this.index.has(id)
	}
	add(id: string, card: Omit<Card, 'id' | 'mark' | 'found'> & Partial<Card>) {
		this.index.set(id, this.cards.length)
		this.cards.push({ mark: '', found: false, ...card, id })
	}
	join(from: string, task: string, need: number, wire: Omit<Wire, 'from' | 'to'>) {
		this.wires.push({ ...wire, from: this.index.get(from)!, to: this.index.get(task)! })
		this.of.push({ task, need })
	}
}

function addTasks(to: Collected, doc: EditorDoc, m: Marks) {
	const change = new Map(m.diff?.tasks.map(t => [t.name, t.change]))
	const face = (d: EditorDoc, t: TaskView) => ({
		label: t.name,
		note: m.note(t),
		icon: picture(textOf(effective(d, t, 'type'))),
	})
	for (const t of doc.tasks)
		to.add(t.name, {
			...face(doc, t),
			look: change.get(t.name) ?? '',
			mark: m.faults.get(t.name) ?? '',
			state: m.states?.get(t.name),
			found: m.found.has(t.name),
		})
	if (m.diff && m.was)
		for (const t of m.was.tasks) if (!to.has(t.name)) to.add(t.name, { ...face(m.was, t), look: 'removed' })
}

/* The need `i` of `t` in `d`; what it names outside of the document gets a card of its own. */
function addWire(to: Collected, m: Marks, d: EditorDoc, t: TaskView, i: number, look: Wire['look']) {
	const n = t.needs[i]!,
		here = inside(d, n.task),
		id = here ?? n.task,
		path = n.task.split('/'),
		label = path.pop()!
	if (here === t.name) return
	if (!to.has(id)) to.add(id, { label, note: path.join('/') || m.outside, icon: picture('wait'), look: 'ghost' })
	const unusual = n.on && n.on !== 'success' ? m.on(n.on) : ''
	to.join(id, t.name, i, {
		label: [ratio(d, d.task(here), t, n), unusual].filter(Boolean).join(' · '),
		dashed: !!n.window || !!n.depend?.startsWith('-') || (!!n.on && n.on !== 'success'),
		look,
	})
}

function addWires(to: Collected, doc: EditorDoc, m: Marks) {
	const names = (d: EditorDoc | null, t: string, n: Need) => d?.task(t)?.needs.some(x => x.task === n.task) ?? false
	for (const t of doc.tasks)
		t.needs.forEach((n, i) => addWire(to, m, doc, t, i, !m.was || !m.diff || names(m.was, t.name, n) ? '' : 'added'))
	if (m.diff && m.was)
		for (const t of m.was.tasks)
			t.needs.forEach((n, i) => {
				if (!names(doc, t.name, n)) addWire(to, m, m.was!, t, i, 'removed')
			})
}

/* What a pipeline may end with and does not: a place to drop a task on. */
function addEnds(to: Collected, doc: EditorDoc, m: Marks) {
	const last = rowOf(doc).at(-1)
	for (const h of hooks) {
		if (doc.task(h) || to.has(h) || !last) continue
		to.add(h, { label: h, note: m.hooks, icon: picture('notify'), look: 'ghost' })
		to.join(last.name, h, -1, { label: '', dashed: true, look: 'ghost' })
	}
}

export function scene(doc: EditorDoc, places: ReadonlyMap<string, Place>, m: Marks, laid: Laid | null = null): Scene {
	const to = new Collected()
	addTasks(to, doc, m)
	addWires(to, doc, m)
	if (doc.isPipeline && m.hooks) addEnds(to, doc, m)
	const { cards, wires, of } = to
	if (cards.length <= FAR || cards.some(k => places.has(k.id)))
		return { cards, wires, of, ...stand(cards, wires, places), waits: null }
	const shape = `${cards.map(k => k.id).join()};${wires.map(e => `${e.from}>${e.to}`).join()}`
	if (laid?.shape === shape) return { cards, wires, of, xs: laid.layout.x, ys: laid.layout.y, waits: null }
	const nowhere = () => new Float64Array(cards.length)
	return { cards, wires, of, xs: nowhere(), ys: nowhere(), waits: { model: modelOf(cards, wires), shape } }
}

const modelOf = (cards: readonly Card[], wires: readonly Wire[]) =>
	new Model(
		cards,
		wires.map(e => ({ from: cards[e.from]!.id, to: cards[e.to]!.id })),
	)

/* Everything by the layout when nothing has a place; else those without one beside what they are joined to. */
function stand(cards: readonly Card[], wires: readonly Wire[], places: ReadonlyMap<string, Place>) {
	const known = cards.filter(k => places.has(k.id)).length,
		xs = new Float64Array(cards.length),
		ys = new Float64Array(cards.length)
	if (!known) {
		const l = layOut(modelOf(cards, wires), editSize)
		return { xs: l.x, ys: l.y }
	}
	const stepX = editSize.width + editSize.gapX,
		stepY = editSize.height + editSize.gapY,
		taken: Place[] = []
	cards.forEach((k, i) => {
		const p = places.get(k.id)
		if (p) {
			xs[i] = p.x
			ys[i] = p.y
			taken.push(p)
		}
	})
	const into = new Map<number, number[]>(),
		out = new Map<number, number[]>()
	for (const e of wires) {
		;(into.get(e.to) ?? into.set(e.to, []).get(e.to)!).push(e.from)
		;(out.get(e.from) ?? out.set(e.from, []).get(e.from)!).push(e.to)
	}
	const done = new Set(cards.flatMap((k, i) => (places.has(k.id) ? [i] : [])))
	const bottom = Math.max(...taken.map(p => p.y))
	cards.forEach((_, i) => {
		if (done.has(i)) return
		const parents = (into.get(i) ?? []).filter(j => done.has(j)),
			children = (out.get(i) ?? []).filter(j => done.has(j))
		const at = parents.length
			? { x: Math.max(...parents.map(j => xs[j]!)) + stepX, y: ys[parents[0]!]! }
			: children.length
				? { x: Math.min(...children.map(j => xs[j]!)) - stepX, y: ys[children[0]!]! }
				: { x: Math.min(...taken.map(p => p.x)), y: bottom + stepY }
		while (taken.some(p => Math.abs(p.x - at.x) < editSize.width + 20 && Math.abs(p.y - at.y) < editSize.height + 12))
			at.y += stepY
		xs[i] = at.x
		ys[i] = at.y
		taken.push({ ...at })
		done.add(i)
	})
	return { xs, ys }
}
