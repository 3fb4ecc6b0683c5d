/* One workflow in the editor: the document, what is selected, what the server says of it, the draft that a
 * reload keeps, the save. What a page shows of it hangs on `tick`. */
import { computed, onScopeDispose, ref, shallowRef, watch, type InjectionKey } from 'vue'
import { inject } from 'vue'
import {
	api,
	ApiError,
	type Applied,
	type Command,
	type Diagnosis,
	type TaskPreview,
	type TaskType,
} from '@/api/client'
import { finished } from '@/stores/command'
import { useResource } from '@/stores/resource'
import { can } from '@/stores/session'
import type { Draft } from './change'
import { EditorDoc, empty } from './doc'
import { closes, effective, inside } from './links'
import { faultAt, taskOfPath } from './faults'
import { follow, reorder, unfollow } from './flow'
import type { Fault, Map1, Need, Place, TaskView, Value } from './parts'
import { isHook } from './steps'
import { readPiece } from './away'
import { copied, freeName, put } from './piece'
import { count, diff, type Diff } from './diff'

export interface Loaded {
	text: string
	version: number
	actor: string
	at: string | null
}
interface Kept {
	version: number
	text: string
	at: number
}

const read = <T>(key: string): T | null => {
	try {
		return JSON.parse(localStorage.getItem(key) ?? 'null') as T | null
	} catch {
		return null
	}
}
const write = (key: string, v: unknown) => {
	try {
		if (v === null) localStorage.removeItem(key)
		else localStorage.setItem(key, JSON.stringify(v))
	} catch {
		/* a private window: for this visit only */
	}
}

/* A refusal with a place in the text becomes faults; what has none stays an error. */
export const faultsOf = (e: ApiError): Fault[] =>
	(e.details?.errors ?? []).map(x => ({
		line: x.line,
		column: x.column,
		message: x.message,
		path: x.path,
		hint: x.hint,
		code: x.code,
	}))

const stemOf = (type: string) => type.replace(/[^\p{L}\p{N}_]+/gu, '_')
/* When a task runs that is drawn after another: as that one, else daily where nothing is said for all. */
function timeLike(doc: EditorDoc, after: TaskView | undefined): Map1 {
	const like = (key: string) => (typeof after?.json[key] === 'string' ? after.json[key] : undefined),
		cron = like('cron')
	if (cron !== undefined) return { cron }
	return effective(doc, undefined, 'cycle') === undefined && effective(doc, undefined, 'cron') === undefined
		? { cycle: like('cycle') ?? 'day' }
		: {}
}

export function useEditor(name: string, fresh: boolean) {
	const draftKey = `sirdar-draft:${fresh ? '' : name}`,
		placesKey = `sirdar-places:${name}`
	const [project, flow] = name.split('/') as [string, string]
	let doc = new EditorDoc(empty(project, flow), new Map(Object.entries(read<Record<string, Place>>(placesKey) ?? {})))
	const tick = ref(0)
	const base = shallowRef<EditorDoc>(new EditorDoc(empty(project, flow)))
	const loaded = shallowRef<Loaded>({ text: '', version: 0, actor: '', at: null })
	const ready = ref(false)
	const restored = ref<number | null>(null)
	const mayEdit = computed(() => can('developer'))
	const selected = shallowRef<ReadonlySet<string>>(new Set())
	const last = ref<string | null>(null)
	const wire = shallowRef<{ task: string; need: number } | null>(null)
	const kept = ref(0)
	const saved = shallowRef<object>({})

	function adopt(next: EditorDoc) {
		doc = next
		doc.onChange = () => {
			prune()
			tick.value++
		}
		tick.value++
	}
	adopt(doc)
	function prune() {
		const there = [...selected.value].filter(n => doc.task(n))
		if (there.length !== selected.value.size) selected.value = new Set(there)
		if (last.value && !doc.task(last.value)) last.value = there[there.length - 1] ?? null
		if (wire.value && !doc.task(wire.value.task)?.needs[wire.value.need]) wire.value = null
	}

	/* --- from the server --- */

	function take(l: Loaded, keepDraft: boolean) {
		loaded.value = l
		base.value = new EditorDoc(l.text)
		const draft = keepDraft ? read<Kept>(draftKey) : null
		adopt(new EditorDoc(l.text, doc.places))
		saved.value = doc.mark
		if (draft && draft.text !== l.text) {
			if (!fresh && draft.version !== l.version) loaded.value = { ...l, version: draft.version }
			doc.setText(draft.text)
			restored.value = draft.at
		} else if (!keepDraft) write(draftKey, null)
		ready.value = true
	}
	const source = useResource(async s => {
		if (fresh) {
			take({ text: empty(project, flow), version: 0, actor: '', at: null }, true)
			return true
		}
		if (ready.value) return true
		const d = await api.workflow(name, undefined, s)
		const l = { text: d.document ?? '', version: d.version, actor: d.actor ?? '', at: d.at ?? null }
		const draft = read<Kept>(draftKey)
		if (draft && draft.version !== d.version && draft.text) {
			/* The draft began at an older version: what that said is the base of the merge. */
			const old = await api.workflow(name, draft.version, s).catch(() => null)
			if (old) {
				take({ text: old.document ?? '', version: old.version, actor: old.actor ?? '', at: old.at ?? null }, true)
				newer.value = l
				return true
			}
		}
		take(l, true)
		return true
	})
	const newer = shallowRef<Loaded | null>(null)
	const types = useResource(api.types)
	const typeOf = (type: string): TaskType | undefined => types.data.value?.types.find(t => t.type === type)

	/* --- changes --- */

	const see = <T>(f: (d: EditorDoc) => T) =>
		computed(() => {
			void tick.value
			return f(doc)
		})
	function apply(label: string, change: (d: Draft) => void, merge = '') {
		if (mayEdit.value && !doc.broken) doc.apply(label, change, merge)
	}
	function select(names: Iterable<string>, at?: string | null) {
		selected.value = new Set([...names].filter(n => doc.task(n)))
		last.value = at === undefined ? ([...selected.value].pop() ?? null) : at
		wire.value = null
	}
	function add(
		type: string,
		o: { name?: string; after?: string | null; at?: Place | null; frozen?: Iterable<[string, Place]> } = {},
	): string {
		const task = isHook(o.name) && doc.isPipeline ? o.name! : freeName(doc, o.name || stemOf(type))
		if (doc.isPipeline)
			apply('add', d => d.addTask(task, { type }, isHook(o.after) ? undefined : (o.after ?? undefined)))
		else
			apply('add', d => {
				const after = o.after ? doc.task(o.after) : undefined
				d.addTask(task, { type, ...timeLike(doc, after) })
				if (o.at) for (const [n, p] of o.frozen ?? []) d.place(n, p)
				if (after) d.addNeed(task, { task: after.name })
				if (o.at) d.place(task, snapped(o.at))
			})
		select([task], task)
		return task
	}
	const snapped = (p: Place) => ({ x: Math.round(p.x / 10) * 10, y: Math.round(p.y / 10) * 10 })
	/* '' or why not. */
	function connect(from: string, to: string): '' | 'circle' | 'same' | 'there' | 'last' {
		if (from === to) return 'same'
		if (!doc.task(to)) return 'there'
		if (doc.isPipeline) {
			const next = follow(doc, from, to)
			if (typeof next === 'string') return next
			apply('connect', next)
			return ''
		}
		if (doc.task(to)!.needs.some(n => inside(doc, n.task) === from || n.task === from)) return 'there'
		if (closes(doc, from, to)) return 'circle'
		apply('connect', d => d.addNeed(to, { task: from }))
		wire.value = { task: to, need: doc.task(to)!.needs.length - 1 }
		return ''
	}
	/* '' or why not. */
	function remove(): '' | 'row' {
		if (wire.value) {
			const w = wire.value,
				away = doc.isPipeline ? unfollow(doc, w.task, w.need) : (d: Draft) => d.setNeed(w.task, w.need, null)
			if (away === 'row') return away
			apply('disconnect', away)
			wire.value = null
		} else if (selected.value.size) apply('delete', d => d.removeTasks(selected.value))
		return ''
	}
	/* Dragged steps: `after` is whom they come behind, '' nobody. */
	function move(names: ReadonlySet<string>, after: string) {
		const change = reorder(doc, names, after)
		if (change) apply('move', change)
	}
	function rename(old: string, fresh: string): boolean {
		if (old === fresh || doc.task(fresh)) return old === fresh
		const names = [...selected.value].map(n => (n === old ? fresh : n)),
			at = last.value === old ? fresh : last.value
		apply('rename', d => d.renameTask(old, fresh))
		select(names, at)
		return true
	}
	const set = (task: string, path: string[], v: Value | undefined) =>
		apply('set', d => d.setTask(task, path, v === '' ? undefined : v), `${task}.${path.join('.')}`)
	const setHead = (path: string[], v: Value | undefined) =>
		apply('set', d => d.setHead(path, v === '' ? undefined : v), `.${path.join('.')}`)
	const setNeed = (task: string, at: number, need: Need | null) =>
		apply('link', d => d.setNeed(task, at, need), need ? `${task}#${at}` : '')
	const copy = () => (selected.value.size ? copied(doc, selected.value) : '')
	/* How many; a long text is read beside the page, and comes into what the document is by then. */
	async function insert(text: string, at?: Place): Promise<number> {
		if (!mayEdit.value) return 0
		const piece = await readPiece(text)
		if (gone || !mayEdit.value || doc.broken) return 0
		const names = put(doc, piece, at)
		if (names.length) select(names)
		return names.length
	}

	/* --- what the server says of it --- */

	const faults = shallowRef<Fault[]>([])
	const preview = shallowRef<TaskPreview | null>(null)
	const answer = shallowRef<Applied | null>(null)
	const refused = shallowRef<ApiError | null>(null)
	const checking = ref(false)
	const checked = ref(-1) /* the tick it speaks of */
	let asked: AbortController | undefined
	let later: ReturnType<typeof setTimeout> | undefined
	const from = ref('')

	async function check() {
		clearTimeout(later)
		asked?.abort()
		if (!ready.value || !can('developer')) return
		const at = tick.value
		if (doc.broken) {
			faults.value = doc.faults()
			preview.value = null
			checked.value = at
			checking.value = false
			return
		}
		const mine = (asked = new AbortController())
		checking.value = true
		const task = doc.task(last.value)?.name ?? (doc.isPipeline ? doc.tasks[0]?.name : undefined)
		try {
			const got = await api.check(
				`${doc.name || flow}.yaml`,
				doc.text,
				undefined,
				task
					? {
							task: `${doc.project}/${doc.name}/${task}`,
							fires: 10,
							edges: 4,
							...(from.value ? { from: from.value } : {}),
						}
					: {},
				mine.signal,
			)
			if (mine !== asked) return
			answer.value = got
			refused.value = null
			const fault =
				(warning: boolean) =>
				(w: Diagnosis): Fault => ({
					line: w.line,
					column: w.column,
					path: w.path,
					message: w.message,
					hint: w.hint,
					code: w.code,
					warning,
				})
			faults.value = [...(got.errors ?? []).map(fault(false)), ...(got.warnings ?? []).map(fault(true))]
			preview.value = got.preview ?? null
			checked.value = at
		} catch (e) {
			if (mine !== asked || mine.signal.aborted) return
			const err = e instanceof ApiError ? e : new ApiError(0, 'CLIENT', String(e))
			const list = faultsOf(err)
			faults.value = list.length
				? list
				: err.offline || err.forbidden || err.status >= 500
					? []
					: [{ line: 0, column: 0, message: err.message, hint: err.hint, code: err.code }]
			refused.value = list.length ? null : err
			preview.value = null
			answer.value = null
			checked.value = at
		} finally {
			if (mine === asked) checking.value = false
		}
	}
	function soon(wait = 450) {
		clearTimeout(later)
		later = setTimeout(() => void check(), wait)
	}
	watch(tick, () => {
		soon()
		clearTimeout(saving)
		saving = setTimeout(keep, 400)
	})
	watch([last, from], () => soon(120))
	let gone = false
	let saving: ReturnType<typeof setTimeout> | undefined
	function keep() {
		if (!ready.value) return
		const dirty = doc.text !== loaded.value.text
		write(draftKey, dirty ? ({ version: loaded.value.version, text: doc.text, at: Date.now() } satisfies Kept) : null)
		kept.value = dirty ? Date.now() : 0
		write(placesKey, doc.places.size ? Object.fromEntries(doc.places) : null)
	}
	onScopeDispose(() => {
		gone = true
		clearTimeout(later)
		clearTimeout(saving)
		asked?.abort()
		keep()
	})

	const dirty = see(d => d.mark !== saved.value)
	const change = computed<Diff>(() => {
		void tick.value
		return diff(base.value, doc)
	})
	const changes = computed(() => count(change.value))
	const errors = computed(() => faults.value.filter(f => !f.warning))
	const byTask = computed(() => {
		const m = new Map<string, 'error' | 'warning'>()
		for (const f of faults.value) {
			const task = taskOfPath(doc, f.path)
			if (task && m.get(task) !== 'error') m.set(task, f.warning ? 'warning' : 'error')
		}
		return m
	})
	const faultOf = (task: string, key: string, deep = false) => {
		void tick.value
		return faultAt(faults.value, doc, task, key, deep)
	}

	/* --- the save --- */

	/* Done, or an ApiError; 409 when somebody else was first. */
	async function save(message: string): Promise<string> {
		const text = doc.text,
			full = `${doc.project}/${doc.name}`
		let c: Command
		try {
			c = await finished(await api.save(`${doc.name}.yaml`, text, loaded.value.version, message))
		} catch (e) {
			if (e instanceof ApiError && e.status === 409 && !fresh) await lookNewer()
			throw e
		}
		if (c.state !== 'done') {
			if (!fresh) await lookNewer()
			throw new ApiError(newer.value ? 409 : 400, 'REFUSED', c.error || c.state)
		}
		const d = await api.workflow(full)
		loaded.value = { text: d.document ?? '', version: d.version, actor: d.actor ?? '', at: d.at ?? null }
		base.value = new EditorDoc(d.document ?? '')
		/* What was saved is what there is; comments live on here until the page is left. */
		if (doc.text === text) {
			loaded.value = { ...loaded.value, text }
			saved.value = doc.mark
		}
		newer.value = null
		restored.value = null
		write(draftKey, null)
		if (fresh) {
			write(`sirdar-places:${full}`, doc.places.size ? Object.fromEntries(doc.places) : null)
		}
		kept.value = 0
		tick.value++
		return full
	}
	async function lookNewer() {
		const d = await api.workflow(name).catch(() => null)
		newer.value =
			d && d.version !== loaded.value.version
				? { text: d.document ?? '', version: d.version, actor: d.actor ?? '', at: d.at ?? null }
				: null
	}
	/* After a conflict: theirs is what there is now, `text` what I make of it. */
	function rebase(text: string) {
		const n = newer.value
		if (!n) return
		loaded.value = n
		base.value = new EditorDoc(n.text)
		newer.value = null
		restored.value = null
		doc.setText(text)
		tick.value++
	}
	function discard() {
		newer.value = null
		restored.value = null
		take(loaded.value, false)
	}
	/* An older version as what is edited now. */
	function restore(text: string) {
		doc.setText(text)
	}

	return {
		name,
		fresh,
		tick,
		doc: () => doc,
		see,
		source,
		ready,
		types,
		typeOf,
		mayEdit,
		base,
		loaded,
		newer,
		restored,
		kept,
		selected,
		last,
		wire,
		select,
		add,
		connect,
		remove,
		move,
		rename,
		set,
		setHead,
		setNeed,
		apply,
		copy,
		insert,
		snapped,
		faults,
		errors,
		byTask,
		faultOf,
		preview,
		answer,
		refused,
		checking,
		checked,
		check,
		soon,
		from,
		dirty,
		change,
		changes,
		save,
		lookNewer,
		rebase,
		discard,
		restore,
		undo: () => doc.undo(),
		redo: () => doc.redo(),
	}
}

export type Editor = ReturnType<typeof useEditor>
export const editorKey: InjectionKey<Editor> = Symbol('editor')
export const theEditor = () => inject(editorKey)!
