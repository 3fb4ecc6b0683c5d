/* Instants, shown. The browser formats; what time means (due, next, windows) the server says. */

const cache = new Map<string, Intl.DateTimeFormat>()

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
	const key = zone + JSON.stringify(options)
	let f = cache.get(key)
	if (!f) {
		f = new Intl.DateTimeFormat('en-CA', { timeZone: zone, hourCycle: 'h23', ...options })
		cache.set(key, f)
	}
	return f
}

type Field = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'

export function fields(at: Date | string | number, zone: string): Record<Field, string> {
	const parts = format(zone, {
		year: 'numeric',
		month: '2-digit',
		day: '2-digit',
		hour: '2-digit',
		minute: '2-digit',
		second: '2-digit',
	}).formatToParts(new Date(at))
	return Object.fromEntries(parts.map(p => [p.type, p.value])) as Record<Field, string>
}

export function date(at: Date | string | number, zone: string): string {
	const f = fields(at, zone)
	return `${f.year}-${f.month}-${f.day}`
}

export function clock(at: Date | string | number, zone: string, seconds = true): string {
	const f = fields(at, zone)
	return `${f.hour}:${f.minute}` + (seconds ? `:${f.second}` : '')
}

/* The date only where it is not today's. */
export function moment(
	at: Date | string | number | null | undefined,
	zone: string,
	now = Date.now(),
	seconds = true,
): string {
	if (at === null || at === undefined || at === '') return ''
	const day = date(at, zone)
	const time = clock(at, zone, seconds)
	if (day === date(now, zone)) return time
	return (day.slice(0, 4) === date(now, zone).slice(0, 4) ? day.slice(5) : day) + ' ' + time
}

/* A run_date: the day alone for cycles of days, with the clock for smaller ones. */
export function runDate(at: string | null | undefined, zone: string): string {
	if (!at) return ''
	const f = fields(at, zone)
	const day = `${f.year}-${f.month}-${f.day}`
	if (f.hour === '00' && f.minute === '00' && f.second === '00') return day
	return `${day} ${f.hour}:${f.minute}` + (f.second === '00' ? '' : ':' + f.second)
}

/* What people call an instance: its label, which the server made in the zone of its task; of an older server
 * the date in the zone of who reads. */
export function named(of: { label?: string | null; run_date?: string | null }, zone: string): string {
	return of.label ?? runDate(of.run_date, zone)
}

/* A run's label, which is local already ("2026-03-01T05:00:00Z" is five o'clock in its zone). */
export function label(at: string): string {
	const day = at.slice(0, 10),
		time = at.slice(11, 16)
	return time === '00:00' ? day : `${day} ${time}`
}

export function offset(zone: string, at = new Date()): string {
	try {
		const name =
			format(zone, { timeZoneName: 'longOffset' })
				.formatToParts(at)
				.find(p => p.type === 'timeZoneName')?.value ?? ''
		const found = /GMT([+-]\d\d:\d\d)/.exec(name)
		return found ? found[1]! : '+00:00'
	} catch {
		return ''
	}
}

export function knownZone(zone: string): boolean {
	try {
		new Intl.DateTimeFormat('en', { timeZone: zone })
		return true
	} catch {
		return false
	}
}

/* 1 h 04 min, 3 min 20 s, 840 ms: two parts at most. Units are the same in both languages but for the words given. */
export interface Units {
	d: string
	h: string
	min: string
	s: string
	ms: string
}

export function span(ms: number, u: Units): string {
	if (!Number.isFinite(ms)) return ''
	const minus = ms < 0 ? '−' : ''
	ms = Math.abs(ms)
	if (ms < 1000) return `${minus}${Math.round(ms)} ${u.ms}`
	const s = Math.floor(ms / 1000)
	if (s < 10 && ms % 1000) return `${minus}${(Math.floor(ms / 100) / 10).toFixed(1)} ${u.s}`
	if (s < 60) return `${minus}${s} ${u.s}`
	const m = Math.floor(s / 60)
	if (m < 60) return s % 60 && m < 10 ? `${minus}${m} ${u.min} ${s % 60} ${u.s}` : `${minus}${m} ${u.min}`
	const h = Math.floor(m / 60)
	if (h < 48) return m % 60 ? `${minus}${h} ${u.h} ${String(m % 60).padStart(2, '0')} ${u.min}` : `${minus}${h} ${u.h}`
	const d = Math.floor(h / 24)
	return h % 24 && d < 10 ? `${minus}${d} ${u.d} ${h % 24} ${u.h}` : `${minus}${d} ${u.d}`
}

/* What an instance took so far or in all. */
export function took(i: { started?: string | null; ended?: string | null }, now: number): number | null {
	if (!i.started) return null
	const from = Date.parse(i.started),
		to = i.ended ? Date.parse(i.ended) : now
	return to < from ? null : to - from
}

export const zonesOffered: string[] = (() => {
	try {
		return ['UTC', ...Intl.supportedValuesOf('timeZone').filter(z => z !== 'UTC')]
	} catch {
		return ['UTC']
	}
})()
