/* Keys of the whole app: never while somebody types. Two-key words begin with g. */
import { onScopeDispose } from 'vue'

type Run = (e: KeyboardEvent) => void

const stack: Record<string, Run>[] = []
let prefix = ''
let timer: ReturnType<typeof setTimeout> | undefined

export function typing(e: Event): boolean {
	const el = e.target as HTMLElement | null
	return !!el?.closest?.('input, textarea, select, [contenteditable=true], .cm-editor')
}

/* What the focused thing does with the key itself: a button is pressed, a menu moves. Whatever lies
 * behind it gets no such key. */
export function taken(e: Event, key: string): boolean {
	const el = e.target as HTMLElement | null
	if (key.startsWith('mod+') || !el?.closest) return false
	if (el.closest('[role=menu], [role=listbox], .login')) return true
	return /^(shift\+)?(Enter| )$/.test(key) && !!el.closest('button, a[href], summary, [role=button], [role=tab]')
}

function spell(e: KeyboardEvent): string {
	const key = e.key.length === 1 ? e.key.toLowerCase() : e.key
	return (e.ctrlKey || e.metaKey ? 'mod+' : '') + (e.shiftKey && e.key.length > 1 ? 'shift+' : '') + key
}

addEventListener('keydown', e => {
	const key = spell(e)
	if (e.altKey || (typing(e) && !key.startsWith('mod+')) || taken(e, key)) return
	const inDialog = document.querySelector('[role=dialog]') !== null
	const word = prefix + key
	clearTimeout(timer)
	prefix = ''
	for (let i = stack.length - 1; i >= 0; i--) {
		const run = stack[i]![word] ?? stack[i]![key]
		if (run && (!inDialog || key.startsWith('mod+'))) {
			e.preventDefault()
			run(e)
			return
		}
	}
	if (key === 'g' && !inDialog) {
		prefix = 'g '
		timer = setTimeout(() => {
			prefix = ''
		}, 1200)
	}
})

/* Later ones come before; they go with the component. */
export function useKeys(keys: Record<string, Run>) {
	stack.push(keys)
	onScopeDispose(() => {
		stack.splice(stack.indexOf(keys), 1)
	})
}
