/* A month of a calendar to pick a day from: weeks begin on Monday, days are ISO dates. Which day somebody means is text; what it is
 * a date of, the server says. Pure. */

const DAY = 86_400_000
const utc = (d: string) => Date.parse(d + 'T00:00:00Z')
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 10)
export const isDay = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && iso(utc(text)) === text

/* The month of a day, weeks of seven days; the first and the last reach into its neighbours. */
export function weeksOf(day: string): string[][] {
	const first = utc(day.slice(0, 7) + '-01'),
		from = first - ((new Date(first).getUTCDay() + 6) % 7) * DAY
	const weeks: string[][] = []
	for (let at = from; weeks.length < 6 && (weeks.length < 4 || iso(at).slice(0, 7) === day.slice(0, 7)); at += 7 * DAY)
		weeks.push(Array.from({ length: 7 }, (_, n) => iso(at + n * DAY)))
	return weeks
}

export function months(day: string, n: number): string {
	const [y, m, d] = day.split('-').map(Number) as [number, number, number]
	const last = new Date(Date.UTC(y, m + n, 0)).getUTCDate()
	return iso(Date.UTC(y, m - 1 + n, Math.min(d, last)))
}

const weekday = (day: string) => (new Date(utc(day)).getUTCDay() + 6) % 7
const moves: Record<string, (day: string) => string> = {
	ArrowLeft: d => iso(utc(d) - DAY),
	ArrowRight: d => iso(utc(d) + DAY),
	ArrowUp: d => iso(utc(d) - 7 * DAY),
	ArrowDown: d => iso(utc(d) + 7 * DAY),
	Home: d => iso(utc(d) - weekday(d) * DAY),
	End: d => iso(utc(d) + (6 - weekday(d)) * DAY),
	PageUp: d => months(d, -1),
	PageDown: d => months(d, 1),
}
/* Where a key leads from a day; undefined: it leads nowhere. */
export const moved = (day: string, key: string): string | undefined => moves[key]?.(day)
