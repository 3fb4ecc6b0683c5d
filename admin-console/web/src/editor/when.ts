/* Schedules in words and as simple choices; what they mean the server says. Pure. */
export const units = ['minute', 'hour', 'day', 'week', 'month', 'year', 'once', 'none'] as const

/* A cron that a few choices make; null when it says more than they can. */
export interface Simple {
	kind: 'minutes' | 'hourly' | 'daily' | 'weekly' | 'monthly'
	every: number
	minute: number
	hour: number
	days: number[]
	day: string
}
const names = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']

export function readCron(text: string): Simple | null {
	const f = text.trim().split(/\s+/)
	if (f.length === 5) f.unshift('0')
	if (f.length === 6) f.push('*')
	const [s, m, h, day, month, week] = f as string[]
	if (f.length !== 7 || s !== '0' || month !== '*' || f[6] !== '*') return null
	const n = (x: string | undefined) => (x !== undefined && /^\d+$/.test(x) ? Number(x) : null),
		any = (x: string | undefined) => x === '*' || x === '?'
	const simple: Simple = { kind: 'daily', every: 15, minute: n(m) ?? 0, hour: n(h) ?? 0, days: [1], day: '1' }
	const step = /^(?:\*|0)\/(\d+)$/.exec(m ?? '')
	if (step && any(h) && any(day) && any(week)) return { ...simple, kind: 'minutes', every: Number(step[1]) }
	if (n(m) === null) return null
	if (any(h) && any(day) && any(week)) return { ...simple, kind: 'hourly' }
	if (n(h) === null) return null
	if (any(day) && any(week)) return simple
	if (any(day) && week) {
		const days: number[] = []
		for (const part of week.toUpperCase().split(',')) {
			const r = /^([A-Z]{3})(?:-([A-Z]{3}))?$/.exec(part),
				a = r ? names.indexOf(r[1]!) : -1,
				b = r?.[2] ? names.indexOf(r[2]) : a
			if (a < 0 || b < a) return null
			for (let i = a; i <= b; i++) days.push(i + 1)
		}
		return { ...simple, kind: 'weekly', days }
	}
	if (any(week) && day && (n(day) !== null || day === 'L')) return { ...simple, kind: 'monthly', day }
	return null
}

export function writeCron(c: Simple): string {
	switch (c.kind) {
		case 'minutes':
			return `0 */${c.every} * * * ?`
		case 'hourly':
			return `0 ${c.minute} * * * ?`
		case 'daily':
			return `0 ${c.minute} ${c.hour} * * ?`
		case 'weekly':
			return `0 ${c.minute} ${c.hour} ? * ${
				[...c.days]
					.sort()
					.map(d => names[d - 1])
					.join(',') || 'MON'
			}`
		case 'monthly':
			return `0 ${c.minute} ${c.hour} ${c.day} * ?`
	}
}

export const two = (n: number) => String(n).padStart(2, '0')

/* Fires whose local time of day is not that of most: a change of the clock moved them. */
export function odd(fires: readonly { due_local: string }[]): Set<number> {
	const count = new Map<string, number>()
	for (const f of fires) count.set(f.due_local.slice(11), (count.get(f.due_local.slice(11)) ?? 0) + 1)
	const most = [...count].sort((a, b) => b[1] - a[1])[0]
	if (!most || most[1] * 2 <= fires.length) return new Set()
	return new Set(fires.flatMap((f, i) => (f.due_local.slice(11) === most[0] ? [] : [i])))
}
