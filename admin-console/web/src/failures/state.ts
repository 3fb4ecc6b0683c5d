/* What the page of failures shows: which classes there are, the bars of a cause. Pure. */
import type { Schemas } from '@/api/client'

export type Cause = Schemas['Cause']

/* How many instances each class has, most first. */
export function classes(list: readonly Cause[]): { class: string; n: number }[] {
	const n = new Map<string, number>()
	for (const c of list) n.set(c.class, (n.get(c.class) ?? 0) + c.instances)
	return [...n]
		.map(([name, count]) => ({ class: name, n: count }))
		.sort((a, b) => b.n - a.n || (a.class < b.class ? -1 : 1))
}

/* Heights of 0..20; what is there at all is seen. */
export function bars(parts: readonly number[]): number[] {
	const most = Math.max(1, ...parts)
	return parts.map(n => (n ? Math.max(3, Math.round((20 * n) / most)) : 1))
}

/* Of one cause, never more at once: the rest is a further redo. */
export const REDO_MAX = 5000
