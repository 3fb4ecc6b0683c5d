import { reactive } from 'vue'

export interface Toast {
	id: number
	text: string
	bad?: boolean
	to?: string
	act?: string
}

export const toasts = reactive<Toast[]>([])
let next = 1

export function toast(text: string, more: Partial<Toast> = {}) {
	const id = next++
	toasts.push({ id, text, ...more })
	setTimeout(() => drop(id), more.bad ? 12_000 : 6_000)
}

export function drop(id: number) {
	const at = toasts.findIndex(x => x.id === id)
	if (at >= 0) toasts.splice(at, 1)
}
