/* What is selected in the editor: tasks, the one of them that the forms show, or a wire. What leaves the document leaves it too. */
import { ref, shallowRef, watch } from 'vue'
import type { OpenDocument } from './open'

export function useChosen({ doc, tick }: OpenDocument) {
	const selected = shallowRef<ReadonlySet<string>>(new Set())
	const last = ref<string | null>(null)
	const wire = shallowRef<{ task: string; need: number } | null>(null)

	function prune() {
		const there = [...selected.value].filter(n => doc().task(n))
		if (there.length !== selected.value.size) selected.value = new Set(there)
		if (last.value && !doc().task(last.value)) last.value = there[there.length - 1] ?? null
		if (wire.value && !doc().task(wire.value.task)?.needs[wire.value.need]) wire.value = null
	}
	watch(tick, prune, { flush: 'sync' })
	function select(names: Iterable<string>, at?: string | null) {
		selected.value = new Set([...names].filter(n => doc().task(n)))
		last.value = at === undefined ? ([...selected.value].pop() ?? null) : at
		wire.value = null
	}
	return { selected, last, wire, select }
}
export type Chosen = ReturnType<typeof useChosen>
