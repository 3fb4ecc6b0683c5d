/* What hands do to the open document: each is one `apply`, which undoes, and nothing without the right to edit. */
import { onScopeDispose } from 'vue'
import { readPiece } from './away'
import type { Draft } from './change'
import type { Chosen } from './chosen'
import type { EditorDoc } from './doc'
import { follow, reorder, unfollow } from './flow'
import { closes, effective, inside } from './links'
import type { OpenDocument } from './open'
import type { Map1, Need, Place, TaskView, Value } from './parts'
import { copied, freeName, put } from './piece'
import { isHook } from './steps'

const stemOf = (type: string) => type.replace(/[^\p{L}\p{N}_]+/gu, '_')
export const snapped = (p: Place) => ({ x: Math.round(p.x / 10) * 10, y: Math.round(p.y / 10) * 10 })

/* When a task runs that is drawn after another: as that one, else daily where nothing is said for all. */
function timeLike(doc: EditorDoc, after: TaskView | undefined): Map1 {
	const like = (key: string) => (typeof after?.json[key] === 'string' ? after.json[key] : undefined),
		cron = like('cron')
	if (cron !== undefined) return { cron }
	return effective(doc, undefined, 'cycle') === undefined && effective(doc, undefined, 'cron') === undefined
		? { cycle: like('cycle') ?? 'day' }
		: {}
}

/* `after`: what it comes behind; `frozen`: where the cards of the picture stand that it was dropped into. */
export interface Added {
	name?: string
	after?: string | null
	at?: Place | null
	frozen?: Iterable<[string, Place]>
}

/* Tasks as a whole: added, renamed, moved, copied, put in. */
export function useTasks({ doc, apply, mayEdit }: OpenDocument, { selected, last, select }: Chosen) {
	let gone = false
	onScopeDispose(() => {
		gone = true
	})
	function add(type: string, o: Added = {}): string {
		const d0 = doc(),
			task = isHook(o.name) && d0.isPipeline ? o.name! : freeName(d0, o.name || stemOf(type))
		if (d0.isPipeline)
			apply('add', d => d.addTask(task, { type }, isHook(o.after) ? undefined : (o.after ?? undefined)))
		else
			apply('add', d => {
				const after = o.after ? d0.task(o.after) : undefined
				d.addTask(task, { type, ...timeLike(d0, after) })
				if (o.at) for (const [n, p] of o.frozen ?? []) d.place(n, p)
				if (after) d.addNeed(task, { task: after.name })
				if (o.at) d.place(task, snapped(o.at))
			})
		select([task], task)
		return task
	}
	/* Dragged steps: `after` is whom they come behind, '' nobody. */
	function move(names: ReadonlySet<string>, after: string) {
		const change = reorder(doc(), names, after)
		if (change) apply('move', change)
	}
	function rename(old: string, fresh: string): boolean {
		if (old === fresh || doc().task(fresh)) return old === fresh
		const names = [...selected.value].map(n => (n === old ? fresh : n)),
			at = last.value === old ? fresh : last.value
		apply('rename', d => d.renameTask(old, fresh))
		select(names, at)
		return true
	}
	const copy = () => (selected.value.size ? copied(doc(), selected.value) : '')
	/* How many; a long text is read beside the page, and comes into what the document is by then. */
	async function insert(text: string, at?: Place): Promise<number> {
		if (!mayEdit.value) return 0
		const piece = await readPiece(text)
		if (gone || !mayEdit.value || doc().broken) return 0
		const names = put(doc(), piece, at)
		if (names.length) select(names)
		return names.length
	}
	return { add, move, rename, copy, insert }
}

/* Links between tasks, and single values of a task or of the head. */
export function useEdits({ doc, apply }: OpenDocument, { selected, wire }: Chosen) {
	/* '' or why not. */
	function connect(from: string, to: string): '' | 'circle' | 'same' | 'there' | 'last' {
		const d0 = doc()
		if (from === to) return 'same'
		if (!d0.task(to)) return 'there'
		if (d0.isPipeline) {
			const next = follow(d0, from, to)
			if (typeof next === 'string') return next
			apply('connect', next)
			return ''
		}
		if (d0.task(to)!.needs.some(n => inside(d0, n.task) === from || n.task === from)) return 'there'
		if (closes(d0, from, to)) return 'circle'
		apply('connect', d => d.addNeed(to, { task: from }))
		wire.value = { task: to, need: d0.task(to)!.needs.length - 1 }
		return ''
	}
	/* '' or why not. */
	function remove(): '' | 'row' {
		if (wire.value) {
			const w = wire.value,
				away = doc().isPipeline ? unfollow(doc(), w.task, w.need) : (d: Draft) => d.setNeed(w.task, w.need, null)
			if (away === 'row') return away
			apply('disconnect', away)
			wire.value = null
		} else if (selected.value.size) apply('delete', d => d.removeTasks(selected.value))
		return ''
	}
	const set = (task: string, path: string[], v: Value | undefined) =>
		apply('set', d => d.setTask(task, path, v === '' ? undefined : v), `${task}.${path.join('.')}`)
	const setHead = (path: string[], v: Value | undefined) =>
		apply('set', d => d.setHead(path, v === '' ? undefined : v), `.${path.join('.')}`)
	const setNeed = (task: string, at: number, need: Need | null) =>
		apply('link', d => d.setNeed(task, at, need), need ? `${task}#${at}` : '')
	return { connect, remove, set, setHead, setNeed }
}
