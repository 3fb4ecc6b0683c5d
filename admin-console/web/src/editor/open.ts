/* The document that is open: another one after a load, the same one through all edits. What depends on it hangs on `tick`. */
import { computed, ref } from 'vue'
import { can } from '@/stores/session'
import type { Draft } from './change'
import { EditorDoc } from './doc'

export function useDocument(first: EditorDoc) {
	let doc = first
	const tick = ref(0)
	const mayEdit = computed(() => can('developer'))

	function adopt(next: EditorDoc) {
		doc = next
		doc.onChange = () => tick.value++
		tick.value++
	}
	adopt(first)
	const see = <T>(f: (d: EditorDoc) => T) =>
		computed(() => {
			void tick.value
			return f(doc)
		})
	function apply(label: string, change: (d: Draft) => void, merge = '') {
		if (mayEdit.value && !doc.broken) doc.apply(label, change, merge)
	}
	return { doc: () => doc, tick, mayEdit, adopt, see, apply, undo: () => doc.undo(), redo: () => doc.redo() }
}
export type OpenDocument = ReturnType<typeof useDocument>
