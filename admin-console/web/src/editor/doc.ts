/* The workflow being edited: one YAML document with its comments, changed by small operations that
 * undo and redo. Knows neither Vue nor the API. Every value is text, as the server reads it; nodes
 * that a snapshot holds are never changed, an operation puts changed copies in their place. */
import { isMap, isScalar, isSeq, Pair, parseDocument, Scalar, YAMLMap, YAMLSeq, type Document, type Node } from 'yaml'

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

interface State {
	doc: Document
	head: Pair[]
	tasks: Pair[]
	places: ReadonlyMap<string, Place>
	broken: string | null
}

const options = { schema: 'failsafe', keepSourceTokens: false, prettyErrors: false, uniqueKeys: true } as const
export const nameRule = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u

const keyOf = (p: Pair) => String(isScalar(p.key) ? p.key.value : p.key)
const find = (list: readonly Pair[], key: string) => list.findIndex(p => keyOf(p) === key)
const text = (v: unknown): string => (v === null || v === undefined ? '' : String(v))

function plain(v: unknown): Value {
	if (Array.isArray(v)) return v.map(plain)
	if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, plain(x)]))
	return text(v)
}

const views = new WeakMap<Pair, TaskView>()

function viewOf(doc: Document, p: Pair): TaskView {
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

/* How a need is written: its name alone when there is no more to say. */
const needValue = (n: Need): Value => {
	const more = Object.fromEntries(Object.entries(n).filter(([, v]) => v !== undefined && v !== '')) as Map1
	return Object.keys(more).length === 1 ? n.task : more
}

/* What an operation may do; it sees and changes copies. */
export class Draft {
	head: Pair[]
	tasks: Pair[]
	places: Map<string, Place>

	constructor(
		readonly doc: Document,
		from: State,
	) {
		this.head = [...from.head]
		this.tasks = [...from.tasks]
		this.places = new Map(from.places)
	}

	private node(v: Value, flow = false): Node {
		const n = this.doc.createNode(v) as Node
		if (flow && (isMap(n) || isSeq(n))) n.flow = true
		return n
	}

	private put(map: YAMLMap, path: string[], v: Value | undefined) {
		if (typeof v === 'string' && v.includes('\n')) map.flow = false
		const [key, ...rest] = path as [string, ...string[]]
		if (rest.length) {
			let next = map.get(key)
			if (!isMap(next)) {
				if (v === undefined) return
				next = new YAMLMap()
				map.set(this.doc.createNode(key), next)
			}
			this.put(next as YAMLMap, rest, v)
			if (!(next as YAMLMap).items.length) map.delete(key)
			return
		}
		if (v === undefined) {
			map.delete(key)
			return
		}
		const old = map.get(key, true)
		if (typeof v === 'string' && isScalar(old)) {
			const copy = old.clone() as Scalar
			copy.value = v
			copy.source = undefined
			if (v.includes('\n')) copy.type = 'BLOCK_LITERAL'
			else if (copy.type === 'BLOCK_LITERAL' || copy.type === 'BLOCK_FOLDED') copy.type = undefined
			map.set(key, copy)
		} else map.set(old === undefined ? this.doc.createNode(key) : key, this.node(v, Array.isArray(v)))
	}

	private open(name: string): YAMLMap | null {
		const at = find(this.tasks, name)
		if (at < 0) return null
		const copy = this.tasks[at]!.clone() as Pair
		if (!isMap(copy.value)) copy.value = new YAMLMap()
		this.tasks[at] = copy
		return copy.value as YAMLMap
	}

	/* Undefined takes the key away. */
	setHead(path: string[], v: Value | undefined) {
		const at = find(this.head, path[0]!)
		if (path.length === 1 && v === undefined) {
			if (at >= 0) this.head.splice(at, 1)
			return
		}
		const map = new YAMLMap()
		if (at >= 0) map.items.push(this.head[at]!.clone() as Pair)
		this.put(map, path, v)
		if (at >= 0) this.head.splice(at, 1, ...(map.items as Pair[]))
		else {
			const before = find(this.head, 'tasks')
			this.head.splice(before < 0 ? this.head.length : before, 0, ...(map.items as Pair[]))
		}
	}

	setTask(name: string, path: string[], v: Value | undefined) {
		const map = this.open(name)
		if (map) this.put(map, path, v)
	}

	addTask(name: string, json: Map1, after?: string, needs: readonly Need[] = []) {
		const map = this.node(json) as YAMLMap,
			pair = new Pair(this.doc.createNode(name), map) as Pair
		if (needs.length) map.set(this.doc.createNode('needs'), this.list(needs))
		const at = after === undefined ? -1 : find(this.tasks, after)
		this.tasks.splice(at < 0 ? this.tasks.length : at + 1, 0, pair)
	}

	removeTasks(names: ReadonlySet<string>) {
		this.tasks = this.tasks.filter(p => !names.has(keyOf(p)))
		for (const t of this.tasks.map(p => viewOf(this.doc, p))) {
			if (t.needs.some(n => names.has(n.task) && n.task !== t.name))
				this.setNeeds(
					t.name,
					t.needs.filter(n => !names.has(n.task)),
				)
		}
		for (const n of names) this.places.delete(n)
	}

	renameTask(old: string, name: string) {
		const at = find(this.tasks, old)
		if (at < 0) return
		const copy = this.tasks[at]!.clone() as Pair
		const key = isScalar(copy.key) ? (copy.key as Scalar) : null
		if (key) {
			key.value = name
			key.source = undefined
		} else copy.key = name
		this.tasks[at] = copy
		for (const t of this.tasks.map(p => viewOf(this.doc, p))) {
			t.needs.forEach((n, i) => {
				if (n.task === old) this.setNeed(t.name, i, { ...n, task: name })
			})
		}
		const b = find(this.head, 'baselines')
		if (b >= 0) {
			const list = plain((this.head[b]!.value as Node).toJS(this.doc))
			if (Array.isArray(list) && list.some(x => (x as Map1).task === old))
				this.setHead(
					['baselines'],
					list.map(x => ((x as Map1).task === old ? { ...(x as Map1), task: name } : x)),
				)
		}
		const place = this.places.get(old)
		this.places.delete(old)
		if (place) this.places.set(name, place)
	}

	setNeeds(name: string, needs: Need[]) {
		const map = this.open(name)
		if (!map) return
		if (!needs.length) {
			map.delete('needs')
			return
		}
		map.set(map.has('needs') ? 'needs' : this.doc.createNode('needs'), this.list(needs))
	}

	private list(needs: readonly Need[]): YAMLSeq {
		const seq = this.node(needs.map(needValue)) as YAMLSeq
		seq.flow = needs.every(n => typeof needValue(n) === 'string')
		for (const i of seq.items) if (isMap(i)) i.flow = true
		return seq
	}

	/* One of them; the others keep their looks and comments. */
	setNeed(name: string, at: number, need: Need | null) {
		const map = this.open(name),
			seq = map?.get('needs')
		if (!map || !isSeq(seq)) return
		if (need === null) {
			seq.items.splice(at, 1)
			if (!seq.items.length) map.delete('needs')
			return
		}
		const v = needValue(need),
			node = this.node(v, true)
		if (typeof v !== 'string') seq.flow = seq.flow && seq.items.length === 1 ? false : seq.flow
		const old = seq.items[at] as Node | undefined
		node.comment = old?.comment
		node.commentBefore = old?.commentBefore
		seq.items[at] = node
	}

	addNeed(name: string, need: Need) {
		const map = this.open(name),
			seq = map?.get('needs')
		if (!map) return
		if (isSeq(seq)) seq.items.push(this.node(needValue(need), true))
		else this.setNeeds(name, [need])
	}

	place(name: string, at: Place | null) {
		if (at) this.places.set(name, at)
		else this.places.delete(name)
	}
}

export const empty = (project: string, name: string) => `workflow: ${name}\nproject: ${project}\ntasks: {}\n`

export class EditorDoc {
	private now: State
	private past: { state: State; label: string }[] = []
	private future: { state: State; label: string }[] = []
	private texts = new WeakMap<State, string>()
	private merging = ''
	private list?: { of: State; views: TaskView[]; byName: Map<string, TaskView> }
	onChange: () => void = () => {}

	constructor(source: string, places?: ReadonlyMap<string, Place>) {
		this.now = this.read(source, places ?? new Map())
	}

	private read(source: string, places: ReadonlyMap<string, Place>, before?: State): State {
		const doc = parseDocument(source, options)
		if (doc.errors.length || !isMap(doc.contents)) {
			const old = before ?? { doc: parseDocument('{}', options), head: [], tasks: [], places, broken: null }
			const s = { ...old, broken: source }
			this.texts.set(s, source)
			return s
		}
		const root = doc.contents as YAMLMap,
			at = find(root.items as Pair[], 'tasks'),
			pair = root.items[at] as Pair | undefined
		const s: State = {
			doc,
			head: (root.items as Pair[]).slice(),
			tasks: pair && isMap(pair.value) ? (pair.value.items as Pair[]).slice() : [],
			places,
			broken: null,
		}
		this.texts.set(s, source)
		return s
	}

	/* The same object when it is the same state again, by undo too. */
	get mark(): object {
		return this.now
	}

	get text(): string {
		let t = this.texts.get(this.now)
		if (t === undefined) {
			const { doc, tasks } = this.now,
				root = doc.contents as YAMLMap
			const head = [...this.now.head]
			let at = find(head, 'tasks')
			if (at < 0) {
				at = head.length
				head.push(new Pair(doc.createNode('tasks'), new YAMLMap()) as Pair)
			}
			const pair = (head[at] = new Pair(head[at]!.key, head[at]!.value) as Pair)
			const map = new YAMLMap()
			if (isMap(pair.value)) {
				map.comment = pair.value.comment
				map.commentBefore = pair.value.commentBefore
				map.spaceBefore = pair.value.spaceBefore
				map.flow = pair.value.flow && !tasks.length
			}
			map.items = tasks
			if (!tasks.length) map.flow = true
			pair.value = map
			root.items = head
			t = doc.toString({ lineWidth: 0, blockQuote: 'literal', flowCollectionPadding: false })
			this.texts.set(this.now, t)
		}
		return t
	}

	/* Where the text cannot be read; null when it can. */
	get broken() {
		return this.now.broken !== null
	}
	faults(): Fault[] {
		if (this.now.broken === null) return []
		const source = this.now.broken,
			doc = parseDocument(source, { ...options, prettyErrors: true })
		if (!doc.errors.length) return [{ line: 1, column: 1, code: 'syntax', message: 'a map is expected' }]
		return doc.errors.map(e => ({
			line: e.linePos?.[0].line ?? 1,
			column: e.linePos?.[0].col ?? 1,
			code: 'syntax',
			message: e.message.split('\n')[0]!.replace(/ at line \d+.*$/, ''),
		}))
	}

	private all() {
		if (this.list?.of !== this.now) {
			const views = this.now.tasks.map(p => viewOf(this.now.doc, p))
			this.list = { of: this.now, views, byName: new Map(views.map(v => [v.name, v])) }
		}
		return this.list
	}

	get tasks(): readonly TaskView[] {
		return this.all().views
	}
	task(name: string | null | undefined): TaskView | undefined {
		return name ? this.all().byName.get(name) : undefined
	}
	get places() {
		return this.now.places
	}
	head(key: string): Value | undefined {
		const at = find(this.now.head, key),
			v = at < 0 ? undefined : this.now.head[at]!.value
		return v === undefined ? undefined : plain((v as Node | null)?.toJS ? (v as Node).toJS(this.now.doc) : v)
	}
	get headKeys() {
		return this.now.head.map(keyOf).filter(k => k !== 'tasks')
	}
	get isPipeline() {
		return find(this.now.head, 'pipeline') >= 0
	}
	get name() {
		return text(this.head('workflow') ?? this.head('pipeline'))
	}
	get project() {
		return text(this.head('project')) || 'default'
	}

	/* `merge`: the same word twice in a row is one step back: typing in a field. */
	apply(label: string, change: (d: Draft) => void, merge = '') {
		const d = new Draft(this.now.doc, this.now)
		change(d)
		const next: State = { doc: this.now.doc, head: d.head, tasks: d.tasks, places: d.places, broken: null }
		this.step(next, label, merge)
	}

	setText(source: string, merge = '') {
		if (source === this.text) return
		this.step(this.read(source, this.now.places, this.now), 'text', merge)
	}

	private step(next: State, label: string, merge: string) {
		if (!(merge && merge === this.merging && this.past.length)) this.past.push({ state: this.now, label })
		if (this.past.length > 500) this.past.shift()
		this.merging = merge
		this.future = []
		this.now = next
		this.onChange()
	}

	/* Places that nobody chose: no step of its own. */
	settle(places: ReadonlyMap<string, Place>) {
		const old = this.now,
			known = this.texts.get(old)
		this.now = { ...old, places }
		if (known !== undefined) this.texts.set(this.now, known)
	}

	get canUndo() {
		return this.past.length ? this.past[this.past.length - 1]!.label : ''
	}
	get canRedo() {
		return this.future.length ? this.future[this.future.length - 1]!.label : ''
	}
	undo() {
		this.swap(this.past, this.future)
	}
	redo() {
		this.swap(this.future, this.past)
	}
	private swap(from: { state: State; label: string }[], to: { state: State; label: string }[]) {
		const step = from.pop()
		if (!step) return
		to.push({ state: this.now, label: step.label })
		this.now = step.state
		this.merging = ''
		this.onChange()
	}
}

/* --- what is put together from the parts --- */

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

export function freeName(doc: EditorDoc, stem: string): string {
	if (!doc.task(stem)) return stem
	const base = stem.replace(/_\d+$/, '')
	for (let i = 2; ; i++) if (!doc.task(`${base}_${i}`)) return `${base}_${i}`
}

/* Tasks for the clipboard: a piece of YAML that any workflow, or a text editor, takes. */
export function copied(doc: EditorDoc, names: ReadonlySet<string>): string {
	const piece = new EditorDoc(empty(doc.project, doc.name))
	piece.apply('copy', d => {
		for (const t of doc.tasks) if (names.has(t.name)) d.addTask(t.name, t.json)
	})
	return piece.text
}

/* Their names where they are free; links among them follow, links to what is not here too when it is known here. */
export function paste(doc: EditorDoc, source: string, at?: Place): string[] {
	const piece = new EditorDoc(source)
	if (piece.broken || !piece.tasks.length) return []
	const names = new Map<string, string>(),
		taken = new Set(doc.tasks.map(t => t.name))
	for (const t of piece.tasks) {
		let name = t.name
		for (let i = 2; taken.has(name); i++) name = `${t.name.replace(/_\d+$/, '')}_${i}`
		taken.add(name)
		names.set(t.name, name)
	}
	doc.apply('paste', d => {
		piece.tasks.forEach((t, i) => {
			const json = { ...t.json }
			delete json.needs
			const needs = t.needs
				.filter(n => names.has(n.task) || n.task.includes('/') || doc.task(n.task))
				.map(n => ({ ...n, task: names.get(n.task) ?? n.task }))
			d.addTask(names.get(t.name)!, json, undefined, needs)
			if (at) d.place(names.get(t.name)!, { x: at.x + 24 * (i % 4), y: at.y + 70 * i })
		})
	})
	return [...names.values()]
}
