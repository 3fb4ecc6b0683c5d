/* What the form of a backfill offers, and the server's plan as figures. Pure. */
import type { Preview } from '@/api/client'
import { date } from '@/domain/time'

const DAY = 86_400_000
export interface Span {
	key: 'yesterday' | 'last7' | 'last30' | 'month' | 'previous'
	from: string
	to: string
}

/* Spans of days that are asked for often, as of `now` in a zone. */
export function presets(now: number, zone: string): Span[] {
	const today = date(now, zone),
		at = new Date(today + 'T00:00:00Z'),
		y = at.getUTCFullYear(),
		m = at.getUTCMonth()
	/* Of the calendar alone: a day of 23 or 25 hours is one day. */
	const back = (n: number) => new Date(at.getTime() - n * DAY).toISOString().slice(0, 10),
		first = (month: number) => new Date(Date.UTC(y, month, 1)).toISOString().slice(0, 10)
	return [
		{ key: 'yesterday', from: back(1), to: back(1) },
		{ key: 'last7', from: back(7), to: back(1) },
		{ key: 'last30', from: back(30), to: back(1) },
		{ key: 'month', from: first(m), to: today },
		{ key: 'previous', from: first(m - 1), to: new Date(Date.UTC(y, m, 0)).toISOString().slice(0, 10) },
	]
}

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

/* Workflows used lately first. */
export const byRecent = (names: readonly string[], recent: readonly string[]) => {
	const at = (n: string) => (recent.includes(n) ? recent.indexOf(n) : recent.length)
	return [...names].sort((a, b) => at(a) - at(b) || a.localeCompare(b))
}

export interface Figures {
	total: number
	days: number
	fresh: number
	down: number
	/* The longest bar of a task, the tallest of a day. */
	most: number
	tallest: number
}
export function figures(p: Preview | null): Figures {
	const tasks = p?.tasks ?? [],
		days = p?.days ?? []
	return {
		total: p?.total ?? 0,
		days: days.filter(d => d.count).length,
		fresh: tasks.reduce((a, x) => a + (x.new ?? 0), 0),
		down: (p?.downstream ?? []).reduce((a, x) => a + x.count, 0),
		most: Math.max(1, ...tasks.map(x => x.count)),
		tallest: Math.max(1, ...days.map(d => d.count + d.refusals + d.unchanged)),
	}
}
