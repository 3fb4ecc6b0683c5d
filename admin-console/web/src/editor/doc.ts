/* The workflow being edited: one YAML document with its comments, changed by small operations that
 * undo and redo. Knows neither Vue nor the API. Every value is text, as the server reads it; nodes
 * that a snapshot holds are never changed, an operation puts changed copies in their place. */
import type { Node } from 'yaml'
import { Draft } from './change'
import {
	find,
	isPipeline,
	keyOf,
	listKey,
	plain,
	text,
	viewOf,
	type Fault,
	type Place,
	type State,
	type TaskView,
	type Value,
} from './parts'
import { isHook, stepViews } from './steps'
import { printText, readText, textFaults } from './text'

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
		const s = readText(source, places, before)
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
			t = printText(this.now)
			this.texts.set(this.now, t)
		}
		return t
	}

	/* Where the text cannot be read; null when it can. */
	get broken() {
		return this.now.broken !== null
	}
	faults(): Fault[] {
		return this.now.broken === null ? [] : textFaults(this.now.broken)
	}

	private all() {
		if (this.list?.of !== this.now) {
			const { doc, tasks, head } = this.now,
				views = isPipeline(head) ? stepViews(doc, tasks, head) : tasks.map(p => viewOf(doc, p))
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
	/* What is said of the whole: without its tasks, or its steps and hooks. */
	get headKeys() {
		const list = listKey(this.now.head),
			steps = this.isPipeline
		return this.now.head.map(keyOf).filter(k => k !== list && !(steps && isHook(k)))
	}
	/* The whole as if it were a task: the schedule of a pipeline is its own. */
	get top(): TaskView {
		return { name: '', json: Object.fromEntries(this.headKeys.map(k => [k, this.head(k)!])), needs: [] }
	}
	get isPipeline() {
		return isPipeline(this.now.head)
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
