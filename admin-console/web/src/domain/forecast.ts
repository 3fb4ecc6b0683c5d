/* Promises and what is expected, placed on one axis of time. */

export interface Promised {
	state: 'safe' | 'at_risk' | 'breached'
	committed: string
	expected: string | null
	expected_slow: string | null
	over: boolean
}

const ms = (s: string | null | undefined) => (s ? Date.parse(s) : NaN)
const HOUR = 3_600_000

/* What people look for first: broken, then endangered, then what is promised next; what is over and kept last. */
export function order<T extends Promised>(all: readonly T[]): T[] {
	const weight = (b: T) => (b.over ? 10 : 0) + { breached: 0, at_risk: 1, safe: 2 }[b.state]
	return [...all].sort((a, b) => weight(a) - weight(b) || ms(a.committed) - ms(b.committed))
}

/* Positive: to spare. Null: nobody can say. */
export const spare = (b: Promised): number | null => (b.expected ? ms(b.committed) - ms(b.expected) : null)
export const spareSlow = (b: Promised): number | null =>
	b.expected_slow ? ms(b.committed) - ms(b.expected_slow) : null

export interface Axis {
	from: number
	to: number
	ticks: number[]
	at: (t: string | number | null | undefined) => number | null
}

export function axis(times: readonly (string | number | null | undefined)[], now: number): Axis {
	const known = times.map(t => (typeof t === 'number' ? t : ms(t))).filter(Number.isFinite)
	let from = Math.min(now, ...known),
		to = Math.max(now, ...known)
	const least = Math.max(HOUR, (to - from) * 0.06)
	from -= least / 2
	to += least
	const step =
		[0.25, 0.5, 1, 2, 3, 4, 6, 12, 24, 48, 96, 168].map(h => h * HOUR).find(s => (to - from) / s <= 9) ?? 336 * HOUR
	const ticks: number[] = []
	for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t)
	return {
		from,
		to,
		ticks,
		at: t => {
			const v = typeof t === 'number' ? t : ms(t)
			return Number.isFinite(v) ? (100 * (v - from)) / (to - from) : null
		},
	}
}

export const count = (all: readonly Promised[]) => ({
	breached: all.filter(b => b.state === 'breached').length,
	at_risk: all.filter(b => b.state === 'at_risk').length,
	safe: all.filter(b => b.state === 'safe' && !b.over).length,
	kept: all.filter(b => b.state === 'safe' && b.over).length,
})
