/* Alerts: what wants a person first, what is new since the last look, rules of a workflow put together. */
import type { Kind } from './states'

export interface AlertRow {
	id: string
	kind: string
	severity: 'notice' | 'warning' | 'critical'
	state: 'open' | 'ended'
	subject: string
	since: string | null
	silenced: string | null
	acknowledged: unknown
}
export interface Told {
	state: string | null
}

export const look = (a: AlertRow): Kind =>
	a.state === 'ended'
		? 'succ'
		: a.kind === 'at_risk'
			? 'risk'
			: a.severity === 'critical'
				? 'failed'
				: a.severity === 'warning'
					? 'late'
					: 'ready'
/* Nobody has it yet. */
export const wants = (a: AlertRow) => a.state === 'open' && !a.acknowledged && !a.silenced
const weight = { critical: 0, warning: 1, notice: 2 }
export const order = <T extends AlertRow>(all: readonly T[]): T[] =>
	[...all].sort(
		(a, b) =>
			Number(!wants(a)) - Number(!wants(b)) ||
			weight[a.severity] - weight[b.severity] ||
			(b.since ?? '').localeCompare(a.since ?? ''),
	)

/* Those to say now: want somebody, grave enough, not said before. Remembers at most `most`. */
export function fresh<T extends AlertRow>(
	all: readonly T[],
	said: readonly string[],
	least: 'critical' | 'warning' = 'warning',
	most = 300,
): { news: T[]; said: string[] } {
	const known = new Set(said)
	const news = all.filter(a => wants(a) && weight[a.severity] <= weight[least] && !known.has(a.id))
	const open = new Set(all.map(a => a.id))
	return { news, said: [...said.filter(id => open.has(id)), ...news.map(a => a.id)].slice(-most) }
}

export interface Rule {
	kind: string
	to: string
	after_s: number
	from: string
}
/* One line for each receiver and delay, with all it is told of. */
export function lines(rules: readonly Rule[]): { to: string; after_s: number; from: string; kinds: string[] }[] {
	const out = new Map<string, { to: string; after_s: number; from: string; kinds: string[] }>()
	for (const r of rules) {
		const key = `${r.to} ${r.after_s} ${r.from}`
		const l = out.get(key) ?? { to: r.to, after_s: r.after_s, from: r.from, kinds: [] }
		if (!l.kinds.includes(r.kind)) l.kinds.push(r.kind)
		out.set(key, l)
	}
	return [...out.values()]
}
/* Tasks that are told of alike stand together. */
export function alike(
	tasks: readonly { task: string; rules: readonly Rule[] }[],
): { tasks: string[]; rules: ReturnType<typeof lines> }[] {
	const out = new Map<string, { tasks: string[]; rules: ReturnType<typeof lines> }>()
	for (const x of tasks) {
		const l = lines(x.rules),
			key = JSON.stringify(l)
		const g = out.get(key) ?? { tasks: [], rules: l }
		g.tasks.push(x.task)
		out.set(key, g)
	}
	return [...out.values()]
}
