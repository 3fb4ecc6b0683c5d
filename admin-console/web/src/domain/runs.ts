/* Runs as the API folds them, and as one square shows them. */
import type { Run } from '@/api/client'
import { countsKind, worst, type Kind } from './states'

export const runKind = (r: Run): Kind => countsKind(r.states, r.forced)

export function runDone(r: Run): number {
	const s = r.states
	return (s.Succ ?? 0) + (s.StopSchedule ?? 0) + (s.Killed ?? 0) + (s.Skipped ?? 0)
}

/* The label in a URL: 2026-03-01 or 2026-03-01T05:00. */
export function runSlug(r: { label: string }): string {
	return r.label.slice(11, 16) === '00:00' ? r.label.slice(0, 10) : r.label.slice(0, 16)
}

/* The last second of its span: what a range of dates ends with, as both ends are meant. */
export const lastOf = (r: { to: string }) => new Date(Date.parse(r.to) - 1000).toISOString().replace('.000', '')

export const runPath = (workflow: string, r: { label: string }) => `/r/${workflow}/${runSlug(r)}`

/* --- a calendar of runs --- */

export interface RunDay {
	day: string
	runs: Run[]
	kind: Kind | null
	/* what a click opens: one that is as bad as the day */ run: Run | null
}

const DAY = 86_400_000

/* Every day of the `days` that end with `last`, from a Monday on. */
export function byDay(runs: readonly Run[], last: string, days: number): RunDay[] {
	const of = new Map<string, Run[]>()
	for (const r of runs) {
		const day = r.label.slice(0, 10),
			l = of.get(day)
		if (l) l.push(r)
		else of.set(day, [r])
	}
	const end = Date.parse(last + 'T00:00:00Z')
	let at = end - (days - 1) * DAY
	at -= ((new Date(at).getUTCDay() + 6) % 7) * DAY
	const out: RunDay[] = []
	for (; at <= end; at += DAY) {
		const day = new Date(at).toISOString().slice(0, 10),
			mine = of.get(day) ?? [],
			kind = worst(mine.map(runKind)) ?? null
		out.push({ day, runs: mine, kind, run: mine.find(r => runKind(r) === kind) ?? null })
	}
	return out
}
