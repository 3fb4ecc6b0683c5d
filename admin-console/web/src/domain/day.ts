/* What ended in slots of time, and what is expected to: the shape of a day, the flow of the last hours. Pure. */
import { date, fields } from './time'

const HOUR = 3_600_000
export const SLOT = 900_000

/* One that has begun or ended: as little of an instance as a chart wants. */
export interface Ran {
	id: string
	task: string
	began: number | null
	ended: number | null
	good: boolean
}

export interface Slot {
	at: number
	good: number
	bad: number
	runs: number
	ahead: number
}

/* The first instant of the day that holds `at`, where a clock is put forward or back too. */
export function midnight(at: number, zone: string): number {
	const f = fields(at, zone)
	const whole = at - (Number(f.hour) * HOUR + Number(f.minute) * 60_000 + Number(f.second) * 1000) - (at % 1000)
	for (const back of [HOUR, 0, -HOUR]) {
		const t = whole - back
		if (date(t, zone) === date(at, zone) && date(t - 1, zone) !== date(at, zone)) return t
	}
	return whole
}

export function day(now: number, zone: string): { from: number; to: number } {
	const from = midnight(now, zone)
	return { from, to: midnight(from + 30 * HOUR, zone) }
}

/* Past: what ended. The slot of now: what runs too. From then on: what is expected to end. */
export function shape(
	of: { from: number; to: number },
	now: number,
	ran: readonly Ran[],
	runs: number,
	ahead: readonly number[],
): Slot[] {
	const slots: Slot[] = []
	for (let at = of.from; at < of.to; at += SLOT) slots.push({ at, good: 0, bad: 0, runs: 0, ahead: 0 })
	const slot = (t: number) => slots[Math.floor((t - of.from) / SLOT)]
	for (const r of ran) {
		const s = r.ended === null ? undefined : slot(r.ended)
		if (s) s[r.good ? 'good' : 'bad']++
	}
	const here = slot(now)
	if (here) here.runs = runs
	for (const t of ahead) {
		const s = t >= now ? slot(t) : undefined
		if (s) s.ahead++
	}
	return slots
}

/* Starts, ends and failures in each of `n` steps up to now, oldest first. */
export function flow(ran: readonly Ran[], now: number, step: number, n: number) {
	const from = now - n * step
	const count = (times: (number | null)[]) => {
		const out = new Array<number>(n).fill(0)
		for (const t of times) {
			const at = t === null ? -1 : Math.floor((t - from) / step)
			if (at >= 0 && at < n) out[at]!++
		}
		return out
	}
	return {
		from,
		starts: count(ran.map(r => r.began)),
		ends: count(ran.map(r => r.ended)),
		failures: count(ran.map(r => (r.good ? null : r.ended))),
	}
}
