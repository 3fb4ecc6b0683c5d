/* A run as a whole: its figures of its instances, and where to look first. Pure. */
import type { Instance } from '@/api/client'
import { countsKind, kindOf, kinds, over, type Kind } from '@/domain/states'

/* A run that nobody knows: its label is taken for UTC. */
export function unknown(at: string, cycle: number) {
	const label = (at.length === 10 ? at + 'T00:00' : at) + ':00Z'
	return { label, from: label, to: new Date(Date.parse(label) + cycle * 1000).toISOString().replace('.000', '') }
}

export function summed(all: readonly Instance[]) {
	const n = new Map<Kind, number>(),
		states: Record<string, number> = {}
	let forced = 0,
		done = 0,
		started: string | null = null,
		ended: string | null = null
	for (const i of all) {
		const k = kindOf(i)
		n.set(k, (n.get(k) ?? 0) + 1)
		states[i.state] = (states[i.state] ?? 0) + 1
		if (i.flags?.includes('forced')) forced++
		if (over(i.state)) done++
		if (i.started && (!started || i.started < started)) started = i.started
		if (i.ended && (!ended || i.ended > ended)) ended = i.ended
	}
	return {
		total: all.length,
		done,
		kind: countsKind(states, forced),
		counts: kinds.filter(k => n.get(k)).map(k => ({ kind: k, n: n.get(k)! })),
		/* It has ended when all have. */
		times: { started, ended: done === all.length ? ended : null },
	}
}

const trouble = new Set<Kind>(['hanged', 'failed', 'retry', 'killed'])
/* What failed, else what runs. */
export const worst = <R extends { kind: Kind }>(rows: readonly R[]): R | undefined =>
	rows.find(r => trouble.has(r.kind)) ?? rows.find(r => r.kind === 'running')
/* The next of what failed, round and round. */
export function nextFailed<R extends { kind: Kind; task: string }>(
	rows: readonly R[],
	now: string | null,
	step: number,
): string | null {
	const all = rows.filter(r => trouble.has(r.kind))
	const at = all.findIndex(r => r.task === now)
	return all.length ? all[(at + step + all.length) % all.length]!.task : null
}
/* Why the current version does not say what parameters a date has. */
export function unfit(task: { begins?: string | null; state?: string } | undefined, date: string) {
	if (!task || task.state === 'retired') return 'gone' as const
	return task.begins && Date.parse(date) < Date.parse(task.begins) ? ('before' as const) : ('unplanned' as const)
}
