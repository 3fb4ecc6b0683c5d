/* A command that is no act on instances: asked for anywhere, its refusal shown before it is sent, followed in the drawer. */
import { reactive } from 'vue'

export interface Asked {
	kind: string
	args: Record<string, unknown>
	title: string
	/* What it means, in a sentence each. */
	facts: string[]
	verb: string
	danger?: boolean
	/* It may say from when on: a field for that. */
	dated?: boolean
	after?: () => void
}

export const asked = reactive<{ now: Asked | null }>({ now: null })

/* The arguments with what was written besides. */
export const argsWith = (a: Asked, from: string, message = '') => ({
	...a.args,
	...(a.dated && from.trim() ? { from: from.trim() } : {}),
	...(message ? { message } : {}),
})

export function ask(a: Asked) {
	asked.now = a
}
