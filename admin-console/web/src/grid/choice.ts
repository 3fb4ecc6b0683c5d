/* One cell or a block of them, by mouse or by keys: where the cursor is, what is marked. */
import { computed, ref, shallowRef, type Ref } from 'vue'
import { blockOf, chosen, isTask, kindAt, type Block, type Column, type Row } from '@/domain/grid'
import { label as labelText } from '@/domain/time'
import type { Kind } from '@/domain/states'
import type { At } from '@/graph/gridpicture'
import { t } from '@/i18n'
import { w } from '@/words/grid'
import { moved, start, steps } from './state'

const bad: Kind[] = ['failed', 'killed', 'retry']

export interface Hands {
	/* Drawn so; `reveal`: brought into sight. */
	draw: (at: At | null, b: Block | null, reveal: boolean) => void
	open: (at: At) => void
	act: () => void
	left: () => void
}

/* What stands under the cursor and in the block. */
function useSeen(
	rows: Ref<readonly Row[]>,
	cols: Ref<readonly Column[]>,
	cursor: Ref<At | null>,
	block: Ref<Block | null>,
) {
	const picked = computed(() => (block.value ? chosen(block.value, rows.value, cols.value) : null))
	const many = computed(() => !!picked.value && picked.value.tasks.length * picked.value.columns.length > 1)
	const failed = computed(() => bad.reduce((a, k) => a + (picked.value?.kinds.get(k) ?? 0), 0))
	const cell = computed(() => {
		const at = cursor.value,
			row = at ? rows.value[at.r] : undefined,
			col = at ? cols.value[at.c] : undefined
		return isTask(row) && col ? { row, col, kind: kindAt(col.cells, row.at) } : null
	})
	/* For those who do not see the canvas. */
	const said = computed(() => {
		if (many.value && picked.value)
			return w('block', { tasks: picked.value.tasks.length, runs: picked.value.columns.length })
		const c = cell.value
		return c ? [c.row.label, labelText(c.col.label), c.kind ? t(`state.${c.kind}`) : w('none')].join(', ') : ''
	})
	return { picked, many, failed, cell, said }
}

export function useChoice(rows: Ref<readonly Row[]>, cols: Ref<readonly Column[]>, hands: Hands) {
	const cursor = shallowRef<At | null>(null),
		anchor = shallowRef<At | null>(null),
		block = shallowRef<Block | null>(null),
		shown = ref(false),
		marking = ref(false)
	const seen = useSeen(rows, cols, cursor, block)

	function choose(at: At | null, b: Block | null, reveal = false) {
		cursor.value = at
		block.value = b
		hands.draw(at, b, reveal)
	}
	function pick(at: At, reveal = false) {
		anchor.value = at
		choose(at, null, reveal)
		shown.value = true
	}
	function select(b: Block) {
		const at = cursor.value
		const inside = at && at.r >= b.r0 && at.r <= b.r1 && at.c >= b.c0 && at.c <= b.c1
		const from = inside ? at : { r: b.r0, c: b.c0 }
		anchor.value ??= from
		shown.value = false
		choose(from, b)
	}
	function clear() {
		shown.value = marking.value = false
		anchor.value = null
		choose(cursor.value, null)
		hands.left()
	}
	function forget() {
		shown.value = false
		choose(null, null)
	}

	function move(by: readonly [number, number], first: At, extend: boolean) {
		const at = cursor.value ? moved(rows.value, cols.value.length, cursor.value, by) : first
		if (!extend) anchor.value = at
		choose(at, extend ? blockOf(anchor.value ?? at, at) : null, true)
		shown.value = shown.value && !extend
	}
	function mark(first: At) {
		marking.value = !marking.value
		if (!marking.value) return
		anchor.value = cursor.value ?? first
		choose(anchor.value, blockOf(anchor.value, anchor.value))
	}
	function enter() {
		if (block.value) {
			marking.value = false
			hands.act()
		} else if (cursor.value) hands.open(cursor.value)
	}
	function key(e: KeyboardEvent) {
		const first = start(rows.value, cols.value.length)
		if (e.ctrlKey || e.metaKey || e.altKey || !first) return
		const by = steps[e.key]
		if (by) move(by, first, e.shiftKey || marking.value)
		else if (e.key === 'x') mark(first)
		else if (e.key === 'Enter' && (block.value || cursor.value)) enter()
		else if (e.key === 'Escape') clear()
		else return
		e.preventDefault()
		e.stopPropagation()
	}
	return { cursor, block, shown, ...seen, pick, select, clear, forget, key }
}
export type Choice = ReturnType<typeof useChoice>
