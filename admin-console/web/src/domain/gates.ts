/* Since when the one waits that waits longest, by gate: of what queues say of themselves. Pure. */

interface Queue {
	kind: string
	running: number
	limit?: number
	oldest?: string | null
}

/* Quotas are gate 7, pools and servers 8. A type's queue stands at 10 while no broker has it, at 11 while its slots are taken, else at 12. */
function gateOf(q: Queue): number {
	if (q.kind === 'project' || q.kind === 'workflow') return 7
	if (q.kind !== 'type') return 8
	return !q.limit ? 10 : q.running >= q.limit ? 11 : 12
}

/* By gate, ms. `linked`: when the first was due of those that wait for links. What is not due yet does not wait. */
export function oldestOf(queues: readonly Queue[], linked: string | null, now: number): Record<number, number> {
	const out: Record<number, number> = {}
	const take = (gate: number, at: string | null | undefined) => {
		const t = at ? Date.parse(at) : NaN
		if (t <= now) out[gate] = Math.min(t, out[gate] ?? Infinity)
	}
	for (const q of queues) take(gateOf(q), q.oldest)
	take(4, linked)
	return out
}
