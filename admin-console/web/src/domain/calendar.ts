/* A calendar's document, read for the year view and edited day by day; comments stay. What a task makes of it
 * the server says. */
import { isCollection, isMap, isScalar, isSeq, parse, parseDocument, YAMLSeq } from 'yaml'

export type Day = 'work' | 'off' | 'holiday' | 'extra'
export interface Calendar {
	name: string
	description: string
	working: boolean[]
	only: boolean
	holidays: Map<string, string>
	workdays: Map<string, string>
}

const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const weekday = (w: unknown) => names.findIndex(n => n.startsWith(String(w).toLowerCase().slice(0, 3)))
const utc = (d: string) => Date.parse(d + 'T00:00:00Z')
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 10)
export const weekdayOf = (d: string) => new Date(utc(d)).getUTCDay()

function years(v: unknown): number[] {
	const found = /^(\d{4})(?:\.\.(\d{4}))?$/.exec(String(v ?? ''))
	if (!found) return []
	const out: number[] = []
	for (let y = Number(found[1]); y <= Number(found[2] ?? found[1]) && out.length < 200; y++) out.push(y)
	return out
}

/* One entry: a date, a range, a date of every year, or {name, on}. */
function put(into: Map<string, string>, v: unknown, name: string, all: readonly number[]) {
	if (v && typeof v === 'object' && !Array.isArray(v)) {
		const m = v as Record<string, unknown>
		if ('on' in m) put(into, m.on, String(m.name ?? name), all)
		else for (const [year, more] of Object.entries(m)) put(into, more, name, years(year))
		return
	}
	if (Array.isArray(v)) {
		for (const x of v) put(into, x, name, all)
		return
	}
	const text = v instanceof Date ? iso(v.getTime()) : String(v)
	const [from, to] = text.split('..') as [string, string?]
	const whole = (d: string, y: number) => (/^\d{4}-/.test(d) ? d : `${y}-${d}`)
	for (const y of /^\d{4}-/.test(from) ? [0] : all) {
		const a = utc(whole(from, y)),
			b = utc(whole(to ?? from, y))
		if (!Number.isFinite(a) || !Number.isFinite(b)) continue
		for (let at = a; at <= b && at - a < 400 * 86_400_000; at += 86_400_000) into.set(iso(at), name)
	}
}

export function calendar(text: string): Calendar | null {
	let d: Record<string, unknown>
	try {
		d = parse(text, { schema: 'failsafe' })
	} catch {
		return null
	}
	if (!d || typeof d !== 'object') return null
	const list = (v: unknown) => (Array.isArray(v) ? v : v === undefined ? [] : [v]).map(weekday)
	const off = d.weekends === undefined ? [0, 6] : list(d.weekends)
	const working =
		d.working === undefined ? names.map((_, n) => !off.includes(n)) : names.map((_, n) => list(d.working).includes(n))
	const all = years(d.years),
		holidays = new Map<string, string>(),
		workdays = new Map<string, string>()
	put(holidays, d.holidays ?? [], '', all)
	put(workdays, d.workdays ?? [], '', all)
	if (d.dates !== undefined) put(workdays, d.dates, '', all)
	return {
		name: String(d.calendar ?? ''),
		description: String(d.description ?? ''),
		working: d.dates === undefined ? working : names.map(() => false),
		only: d.dates !== undefined,
		holidays,
		workdays,
	}
}

export function dayOf(c: Calendar, date: string): Day {
	if (c.workdays.has(date)) return c.only || !c.working[weekdayOf(date)] || c.holidays.has(date) ? 'extra' : 'work'
	if (c.holidays.has(date)) return 'holiday'
	return c.working[weekdayOf(date)] ? 'work' : 'off'
}

/* Twelve months, each with its days and how many cells stand before the first (weeks begin on Monday). */
export function year(c: Calendar, y: number) {
	return Array.from({ length: 12 }, (_, m) => {
		const first = `${y}-${String(m + 1).padStart(2, '0')}-01`,
			n = new Date(Date.UTC(y, m + 1, 0)).getUTCDate()
		const days = Array.from({ length: n }, (_, d) => {
			const date = first.slice(0, 8) + String(d + 1).padStart(2, '0')
			return { date, day: dayOf(c, date), name: c.workdays.get(date) || c.holidays.get(date) || '' }
		})
		return { month: m + 1, before: (weekdayOf(first) + 6) % 7, days }
	})
}
export const allowed = (d: Day) => d === 'work' || d === 'extra'

/* A day made free, or worked: one entry added, or the entry that says otherwise taken away. '' when a range says it:
 * that is a change of the text. */
export function toggle(text: string, date: string): string {
	const c = calendar(text),
		doc = parseDocument(text)
	if (!c || doc.errors.length) return ''
	const was = dayOf(c, date),
		key = c.only
			? 'dates'
			: allowed(was)
				? was === 'extra'
					? 'workdays'
					: 'holidays'
				: was === 'holiday'
					? 'holidays'
					: 'workdays'
	const list = doc.get(key)
	const gone = (c.only && allowed(was)) || was === 'extra' || was === 'holiday'
	if (gone) {
		if (!isSeq(list)) return ''
		const at = list.items.findIndex(x =>
			isScalar(x) ? String(x.source ?? x.value) === date : isMap(x) && String(x.get('on')) === date,
		)
		/* In the middle of a range: an exception beside it says it. */
		if (at < 0) return was === 'holiday' ? added(doc, 'workdays', date) : ''
		list.delete(at)
		if (!list.items.length) doc.delete(key)
		return String(doc)
	}
	return added(doc, key, date)
}
function added(doc: ReturnType<typeof parseDocument>, key: string, date: string): string {
	const list = doc.get(key)
	if (isCollection(list) && !isSeq(list)) return ''
	if (isSeq(list)) list.add(doc.createNode(date))
	else {
		const fresh = new YAMLSeq()
		fresh.flow = true
		fresh.add(doc.createNode(date))
		doc.set(key, fresh)
	}
	return String(doc)
}
