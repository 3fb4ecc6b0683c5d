/* Runs as the API folds them, and as one square shows them. */
import type { Run } from '@/api/client'
import { countsKind, type Kind } from './states'

export const runKind = (r: Run): Kind => countsKind(r.states, r.forced)

export function runDone(r: Run): number {
	const s = r.states
	return (s.Succ ?? 0) + (s.StopSchedule ?? 0) + (s.Killed ?? 0) + (s.Skipped ?? 0)
}

/* The label in a URL: 2026-03-01 or 2026-03-01T05:00. */
export function runSlug(r: { label: string }): string {
	return r.label.slice(11, 16) === '00:00' ? r.label.slice(0, 10) : r.label.slice(0, 16)
}

export const runPath = (workflow: string, r: { label: string }) => `/r/${workflow}/${runSlug(r)}`
