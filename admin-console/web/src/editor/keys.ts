/* The editor's keys and clipboard: plain keys when nobody types, the others where a text field has no better use for
 * them. What they do to the page is handed in. */
import { nextTick, onScopeDispose, type Ref } from 'vue'
import { typing, useKeys } from '@/ui/keys'
import { toast } from '@/ui/toast'
import type { Editor } from './editor'
import type { Place } from './parts'
import { te } from './words'

interface Drawing {
	arrange: () => void
	fit: () => void
	full: () => void
	zoom: (f: number) => void
	centre: () => Place | null
}
export interface Page {
	canvas: () => Drawing | null
	code: () => { find: () => void } | null
	form: () => { open: (tab?: string) => void } | null
	view: Ref<string>
	merging: Ref<boolean>
	problems: Ref<boolean>
	drawn: Ref<boolean>
	testing: Ref<boolean>
	add: () => void
	pick: (what: 'connect' | 'find') => void
	save: () => void
	back: () => void
}

export function useEditorKeys(ed: Editor, page: Page) {
	const remove = () => {
		if (ed.remove() === 'row') toast(te('pipe.row'))
	}
	const plain = (run: () => void) => () => {
		if (!page.merging.value) run()
	}
	useKeys({
		a: plain(() => page.add()),
		c: plain(() => {
			if (ed.last.value && ed.mayEdit.value) page.pick('connect')
		}),
		l: plain(() => page.canvas()?.arrange()),
		f: plain(() => page.canvas()?.fit()),
		1: plain(() => page.canvas()?.full()),
		'+': plain(() => page.canvas()?.zoom(1.25)),
		'=': plain(() => page.canvas()?.zoom(1.25)),
		'-': plain(() => page.canvas()?.zoom(0.8)),
		'/': plain(() => {
			page.pick('find')
		}),
		Delete: plain(remove),
		Backspace: plain(remove),
		F2: plain(() => page.form()?.open('task')),
		e: plain(() => {
			page.problems.value = !page.problems.value
		}),
		d: plain(() => {
			page.drawn.value = !page.drawn.value
		}),
		r: plain(() => {
			if (ed.last.value) page.testing.value = true
		}),
	})
	function keys(e: KeyboardEvent) {
		if (document.querySelector('[role=dialog]')) return
		const mod = e.ctrlKey || e.metaKey,
			k = e.key.toLowerCase()
		if (mod && k === 's') {
			e.preventDefault()
			page.save()
			return
		}
		if (e.key === 'Escape' && typing(e) && (e.target as HTMLElement).closest('.insp')) {
			e.preventDefault()
			;(e.target as HTMLElement).blur()
			page.back()
			return
		}
		if (e.key === 'Enter' && !e.isComposing && (e.target as HTMLElement).id === 'ed-name') {
			void nextTick(page.back)
			return
		}
		if (!mod || typing(e)) return
		if (k === 'z') {
			e.preventDefault()
			if (e.shiftKey) ed.redo()
			else ed.undo()
		} else if (k === 'y') {
			e.preventDefault()
			ed.redo()
		} else if (k === 'a') {
			e.preventDefault()
			ed.select(
				ed.doc().tasks.map(x => x.name),
				ed.last.value,
			)
		} else if (k === 'd') {
			e.preventDefault()
			const piece = ed.copy()
			if (piece) void ed.insert(piece)
		} else if (k === 'f') {
			e.preventDefault()
			if (page.view.value === 'yaml') page.code()?.find()
			else page.pick('find')
		}
	}
	let own = ''
	const quiet = (e: Event) => typing(e) || !!document.querySelector('[role=dialog]') || !!getSelection()?.toString()
	function copy(e: ClipboardEvent) {
		const piece = quiet(e) ? '' : ed.copy()
		if (piece) {
			own = piece
			e.clipboardData?.setData('text/plain', piece)
			e.preventDefault()
			toast(te('copied', { n: ed.selected.value.size }))
		}
	}
	function cut(e: ClipboardEvent) {
		if (quiet(e) || !ed.mayEdit.value) return
		copy(e)
		remove()
	}
	function paste(e: ClipboardEvent) {
		if (quiet(e)) return
		e.preventDefault()
		const text = e.clipboardData?.getData('text/plain') || own
		void ed.insert(text, page.canvas()?.centre() ?? undefined).then(n => {
			toast(n ? te('pasted', { n }) : te('pasted.none'))
		})
	}
	for (const [k, f] of [
		['keydown', keys],
		['copy', copy],
		['cut', cut],
		['paste', paste],
	] as [string, EventListener][]) {
		document.addEventListener(k, f)
		onScopeDispose(() => document.removeEventListener(k, f))
	}
}
