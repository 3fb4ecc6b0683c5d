/* What a person has set, as it goes from browser to browser: each thing with the time of its change,
 * so that two browsers that did not see each other lose neither's. Pure. */
import { knownZone } from './time'

export interface View {
	name: string
	q: string
}
export interface Followed {
	theme: 'light' | 'dark' | 'system'
	lang: 'en' | 'zh'
	zone: string
	density: 'compact' | 'standard' | 'comfortable'
	views: View[]
	tour: boolean
}
type Plain = Exclude<keyof Followed, 'views'>

interface One {
	value: unknown
	at: number
}
interface KeptView extends View {
	at: number
	gone?: true
}
/* Whatever else a newer console keeps is carried along. */
export type Kept = { views?: KeptView[] } & { [key: string]: unknown }

export const plain: Plain[] = ['theme', 'lang', 'zone', 'density', 'tour']
const MOST_VIEWS = 20
const MOST_BYTES = 30_000 /* the server takes 32 KB */
const Q_MAX = 500

const among = (...all: string[]) => all.includes.bind(all) as (v: unknown) => boolean
const fits: Record<Plain, (v: unknown) => boolean> = {
	theme: among('light', 'dark', 'system'),
	lang: among('en', 'zh'),
	density: among('compact', 'standard', 'comfortable'),
	zone: v => typeof v === 'string' && knownZone(v),
	tour: v => typeof v === 'boolean',
}

const record = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v)
const isOne = (v: unknown): v is One => record(v) && 'value' in v && Number.isSafeInteger(v.at)
const isView = (v: unknown): v is KeptView =>
	record(v) && typeof v.name === 'string' && typeof v.q === 'string' && Number.isSafeInteger(v.at)
const viewsOf = (k: Kept) => (Array.isArray(k.views) ? k.views.filter(isView) : [])
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
/* Of two with one time both browsers must choose the same. */
const newer = <T extends { at: number }>(a: T, b: T) =>
	a.at !== b.at ? (a.at > b.at ? a : b) : JSON.stringify(a) >= JSON.stringify(b) ? a : b

function mergeViews(a: KeptView[], b: KeptView[]): KeptView[] {
	const by = new Map<string, KeptView>()
	for (const v of [...a, ...b]) {
		const was = by.get(v.q)
		by.set(v.q, was ? newer(was, v) : v)
	}
	return [...by.values()].sort((x, y) => y.at - x.at || (x.q < y.q ? -1 : 1))
}

/* Both know it afterwards, whoever asks: the order does not matter. */
export function merge(a: Kept, b: Kept): Kept {
	const out: Kept = {}
	for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
		if (key === 'views') continue
		const x = a[key],
			y = b[key]
		out[key] = isOne(x) && isOne(y) ? newer(x, y) : isOne(x) || y === undefined ? x : y
	}
	const views = mergeViews(viewsOf(a), viewsOf(b))
	if (views.length) out.views = views
	return fit(out)
}

const bytes = (k: Kept) => new TextEncoder().encode(JSON.stringify(k)).length

/* Small enough to be taken: what was forgotten longest ago goes first, then the oldest views. */
export function fit(k: Kept): Kept {
	const views = viewsOf(k)
	const alive = views.filter(v => !v.gone)
	const out = { ...k }
	if (views.length) out.views = views.filter(v => v.gone || alive.indexOf(v) < MOST_VIEWS)
	while (out.views?.length && bytes(out) > MOST_BYTES) {
		const last = out.views.findLastIndex(v => v.gone)
		out.views = out.views.filter((_, n) => n !== (last < 0 ? out.views!.length - 1 : last))
	}
	return out
}

/* Control characters are no text for the server. */
const clean = (s: string) => s.replace(/[\u0000-\u001f\u007f]/g, ' ')

const tidy = (views: View[]) =>
	views.map(v => ({ name: clean(v.name), q: clean(v.q) })).filter(v => v.q.length <= Q_MAX)

function noteViews(was: KeptView[], before: View[], now: View[], at: number): KeptView[] {
	const out = was.map(v =>
		!v.gone && before.some(b => b.q === v.q) && !now.some(h => h.q === v.q) ? { ...v, gone: true as const, at } : v,
	)
	const fresh = now.filter(
		h => !before.some(b => same(b, h)) && !was.some(v => !v.gone && v.q === h.q && v.name === h.name),
	)
	/* Newest first, as they stand here. */
	return mergeViews(
		out.filter(v => !fresh.some(f => f.q === v.q)),
		fresh.map((v, n) => ({ ...v, at: at + fresh.length - 1 - n })),
	)
}

/* What was changed here from `before` to `now`, written down. The same object when nothing was, or
 * it is known already. What nobody ever changed is nowhere. */
export function note(k: Kept, before: Followed, now: Followed, at: number): Kept {
	const out: Kept = { ...k }
	let changed = false
	for (const key of plain) {
		const was = k[key]
		if (now[key] === before[key] || (isOne(was) && same(was.value, now[key]))) continue
		out[key] = { value: now[key], at }
		changed = true
	}
	const was = mergeViews(viewsOf(k), [])
	const views = noteViews(was, tidy(before.views), tidy(now.views), at)
	if (!same(views, was)) {
		out.views = views
		changed = true
	}
	return changed ? fit(out) : k
}

/* What this browser shall be like; nothing of it that this console does not understand. */
export function shown(k: Kept): Partial<Followed> {
	const out: Partial<Record<keyof Followed, unknown>> = {}
	for (const key of plain) {
		const one = k[key]
		if (isOne(one) && fits[key](one.value)) out[key] = one.value
	}
	if (Array.isArray(k.views))
		out.views = viewsOf(k)
			.filter(v => !v.gone)
			.map(({ name, q }) => ({ name, q }))
	return out as Partial<Followed>
}

/* What was set before anybody kept it: older than all that is kept. */
export function first(now: Followed, usual: Followed): Kept {
	const out: Kept = {}
	for (const key of plain) if (now[key] !== usual[key]) out[key] = { value: now[key], at: 1 }
	if (now.views.length) out.views = now.views.slice(0, MOST_VIEWS).map((v, n) => ({ ...v, at: MOST_VIEWS - n }))
	return fit(out)
}

export const differs = (a: Kept, b: Kept) => !same(merge(a, {}), merge(b, {}))
