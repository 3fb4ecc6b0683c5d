/* Which saved version an edit began at, what has changed since, the draft that a reload keeps, and the save. */
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, ApiError, type Command } from '@/api/client'
import { finished } from '@/stores/command'
import { useResource } from '@/stores/resource'
import { count, diff, type Diff } from './diff'
import { EditorDoc, empty } from './doc'
import type { Keeper } from './keeper'
import type { OpenDocument } from './open'

export interface Loaded {
	text: string
	version: number
	actor: string
	at: string | null
}
type Version = ReturnType<typeof useVersion>

const ask = async (name: string, version?: number, s?: AbortSignal): Promise<Loaded> => {
	const d = await api.workflow(name, version, s)
	return { text: d.document ?? '', version: d.version, actor: d.actor ?? '', at: d.at ?? null }
}
export const blank = (name: string) => empty(...(name.split('/') as [string, string]))

/* What the edit is held against: `base` parsed, `loaded` as it came; `newer` once somebody else was first. */
export function useVersion({ doc, tick, adopt, see }: OpenDocument, keeper: Keeper, name: string, fresh: boolean) {
	const base = shallowRef(new EditorDoc(blank(name)))
	const loaded = shallowRef<Loaded>({ text: '', version: 0, actor: '', at: null })
	const newer = shallowRef<Loaded | null>(null)
	const restored = ref<number | null>(null)
	const ready = ref(false)
	const saved = shallowRef<object>({})

	function take(l: Loaded, keepDraft: boolean) {
		loaded.value = l
		base.value = new EditorDoc(l.text)
		const draft = keepDraft ? keeper.draft() : null
		adopt(new EditorDoc(l.text, doc().places))
		saved.value = doc().mark
		if (draft && draft.text !== l.text) {
			if (!fresh && draft.version !== l.version) loaded.value = { ...l, version: draft.version }
			doc().setText(draft.text)
			restored.value = draft.at
		} else if (!keepDraft) keeper.keepDraft(null)
		ready.value = true
	}
	async function load(s: AbortSignal) {
		if (fresh) return take({ text: blank(name), version: 0, actor: '', at: null }, true)
		if (ready.value) return
		const now = await ask(name, undefined, s)
		const draft = keeper.draft()
		/* The draft began at an older version: what that said is the base of the merge. */
		const old =
			draft?.text && draft.version !== now.version ? await ask(name, draft.version, s).catch(() => null) : null
		take(old ?? now, true)
		if (old) newer.value = now
	}
	const source = useResource(s => load(s).then(() => true))

	/* After a conflict: theirs is what there is now, `text` what I make of it. */
	function rebase(text: string) {
		if (!newer.value) return
		loaded.value = newer.value
		base.value = new EditorDoc(newer.value.text)
		newer.value = null
		restored.value = null
		doc().setText(text)
		tick.value++
	}
	function discard() {
		newer.value = null
		restored.value = null
		take(loaded.value, false)
	}
	/* An older version as what is edited now. */
	const restore = (text: string) => doc().setText(text)
	const dirty = see(d => d.mark !== saved.value)
	const change = see<Diff>(d => diff(base.value, d))
	const changes = computed(() => count(change.value))
	return { base, loaded, newer, restored, ready, saved, source, rebase, discard, restore, dirty, change, changes }
}

/* Writes the draft a moment after each change, and once more when the editor is left; `kept`: when, or 0. */
export function useDraft({ doc, tick }: OpenDocument, v: Version, keeper: Keeper) {
	const kept = ref(0)
	let saving: ReturnType<typeof setTimeout> | undefined
	function keep() {
		if (!v.ready.value) return
		const { text, version } = v.loaded.value,
			dirty = doc().text !== text
		keeper.keepDraft(dirty ? { version, text: doc().text, at: Date.now() } : null)
		kept.value = dirty ? Date.now() : 0
		keeper.keepPlaces(doc().places)
	}
	watch(tick, () => {
		clearTimeout(saving)
		saving = setTimeout(keep, 400)
	})
	onScopeDispose(() => {
		clearTimeout(saving)
		keep()
	})
	return kept
}

export function useSave({ doc, tick }: OpenDocument, v: Version, keeper: Keeper, name: string, fresh: boolean) {
	async function lookNewer() {
		const now = await ask(name).catch(() => null)
		v.newer.value = now && now.version !== v.loaded.value.version ? now : null
	}
	/* Done, or an ApiError; 409 when somebody else was first. */
	async function send(text: string, message: string) {
		let c: Command
		try {
			c = await finished(await api.save(`${doc().name}.yaml`, text, v.loaded.value.version, message))
		} catch (e) {
			if (e instanceof ApiError && e.status === 409 && !fresh) await lookNewer()
			throw e
		}
		if (c.state === 'done') return
		if (!fresh) await lookNewer()
		throw new ApiError(v.newer.value ? 409 : 400, 'REFUSED', c.error || c.state)
	}
	async function save(message: string): Promise<string> {
		const text = doc().text,
			full = `${doc().project}/${doc().name}`
		await send(text, message)
		const now = await ask(full)
		v.base.value = new EditorDoc(now.text)
		/* What was saved is what there is; comments live on here until the page is left. */
		const same = doc().text === text
		v.loaded.value = same ? { ...now, text } : now
		if (same) v.saved.value = doc().mark
		v.newer.value = null
		v.restored.value = null
		keeper.keepDraft(null)
		if (fresh) keeper.keepPlaces(doc().places, full)
		tick.value++
		return full
	}
	return { save, lookNewer }
}
