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

const remove = (ed: Editor) => {
	if (ed.remove() === 'row') toast(te('pipe.row'))
}
const dialog = () => !!document.querySelector('[role=dialog]')

/* Keys without a modifier, while nobody types. */
function usePlainKeys(ed: Editor, page: Page) {
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
		Delete: plain(() => remove(ed)),
		Backspace: plain(() => remove(ed)),
		F2: plain(() => page.form()?.open('task')),
		e: plain(() => {
			page.problems.value = !page.problems.value
		}),
		d: plain(() => {
			page.drawn.value = !page.drawn.value
		}),
		r: plain(() => {
			page.testing.value = true
		}),
	})
}

/* Keys with a modifier, of a field of the form too. */
const keysOf = (ed: Editor, page: Page) => {
	const chords: Record<string, (e: KeyboardEvent) => void> = {
		z: e => (e.shiftKey ? ed.redo() : ed.undo()),
		y: () => ed.redo(),
		a: () =>
			ed.select(
				ed.doc().tasks.map(x => x.name),
				ed.last.value,
			),
		d: () => {
			const piece = ed.copy()
			if (piece) void ed.insert(piece)
		},
		f: () => {
			if (page.view.value === 'yaml') page.code()?.find()
			else page.pick('find')
		},
	}
	return (e: KeyboardEvent) => {
		if (dialog()) return
		const mod = e.ctrlKey || e.metaKey,
			k = e.key.toLowerCase(),
			field = e.target as HTMLElement
		if (mod && k === 's') {
			e.preventDefault()
			page.save()
		} else if (e.key === 'Escape' && typing(e) && field.closest('.inspector')) {
			e.preventDefault()
			field.blur()
			page.back()
		} else if (e.key === 'Enter' && !e.isComposing && field.id === 'ed-name') void nextTick(page.back)
		else if (mod && !typing(e) && Object.hasOwn(chords, k)) {
			e.preventDefault()
			chords[k]!(e)
		}
	}
}

/* Tasks by way of the clipboard, where no text is marked and nobody types. */
function clipboardOf(ed: Editor, page: Page) {
	let own = ''
	const quiet = (e: Event) => typing(e) || dialog() || !!getSelection()?.toString()
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
		remove(ed)
	}
	function paste(e: ClipboardEvent) {
		if (quiet(e)) return
		e.preventDefault()
		const text = e.clipboardData?.getData('text/plain') || own
		void ed.insert(text, page.canvas()?.centre() ?? undefined).then(n => {
			toast(n ? te('pasted', { n }) : te('pasted.none'))
		})
	}
	return { copy, cut, paste }
}

export function useEditorKeys(ed: Editor, page: Page) {
	usePlainKeys(ed, page)
	for (const [k, f] of Object.entries({ keydown: keysOf(ed, page), ...clipboardOf(ed, page) })) {
		document.addEventListener(k, f as EventListener)
		onScopeDispose(() => document.removeEventListener(k, f as EventListener))
	}
}
