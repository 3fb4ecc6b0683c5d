/* What may stand at a place, what a place means, what in a text does not fit: of a schema and a text. Pure. */
import type { Document } from 'yaml'
import { placesAt, rangeOf, read, spotAt, valueOf, type Place } from './place'
import { Reader, type Mark, type Schema, type Step } from './schema'

export interface Offer {
	from: number
	to: number
	label: string
	/* What is put there, and what comes after it on its own line. */
	apply: string
	kind: 'key' | 'value' | 'task'
	detail: string
	help: string
	/* It is wanted there. */
	must: boolean
}

/* Words of the values it takes, a few. */
const MANY = 8
const whole = (s: Schema[]) => s.flatMap(x => (x.type === undefined ? [] : x.type))
function valuesOf(parts: readonly Schema[]): { value: string; help: string }[] {
	const out = new Map<string, string>()
	const put = (v: unknown, help = '') => {
		if (v !== null && typeof v !== 'object' && !out.get(String(v))) out.set(String(v), help)
	}
	for (const p of parts) {
		if ('const' in p) put(p.const, p.description)
		p.enum?.forEach(v => put(v))
		if (whole([p]).includes('boolean') && whole([p]).length === 1) [true, false].forEach(v => put(v))
		if (p.default !== undefined) put(p.default)
	}
	return [...out].map(([value, help]) => ({ value, help }))
}
const helpOf = (parts: readonly Schema[]) => parts.find(p => p.description)?.description ?? ''

function detailOf(parts: readonly Schema[]): string {
	const values = valuesOf(parts).map(v => v.value)
	if (values.length) return values.slice(0, MANY).join(' | ') + (values.length > MANY ? ' | …' : '')
	return [...new Set(whole([...parts]))].join(' | ')
}

/* It holds what stands below it. */
const opensBlock = (parts: readonly Schema[]) => {
	const types = whole([...parts])
	return types.length > 0 && types.every(t => t === 'object' || t === 'array')
}

const record = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v)
function into(doc: unknown, path: readonly Step[]): unknown {
	let v = doc
	for (const step of path) v = v && typeof v === 'object' ? (v as Record<Step, unknown>)[step] : undefined
	return v
}

/* Texts that YAML would read otherwise are quoted. */
const plain = (v: string) => (/^[\p{L}\p{N}_./$-][\p{L}\p{N}_./ $-]*$/u.test(v) ? v : JSON.stringify(v))

function keysAt(reader: Reader, text: string, p: Place): Offer[] {
	const there = into(p.doc, p.within),
		has = record(there) ? there : {},
		parts = reader.at(p.within, p.doc),
		must = new Set(parts.flatMap(x => x.required ?? []))
	const line = text.lastIndexOf('\n', p.from - 1) + 1,
		indent = text.slice(line, p.from).replace(/[^ ]/g, ' ')
	const out = new Map<string, Offer>()
	for (const part of parts)
		for (const [key, s] of Object.entries(part.properties ?? {})) {
			if (s === false || out.has(key) || Object.hasOwn(has, key)) continue
			const below = reader.parts(reader.child(parts, key), undefined)
			if (!below.length) continue
			const tail = p.colon ? '' : opensBlock(below) && !p.flow ? `:\n${indent}  ` : ': '
			out.set(key, {
				from: p.from,
				to: p.to,
				label: key,
				apply: key + tail,
				kind: 'key',
				detail: detailOf(below),
				help: helpOf(below),
				must: must.has(key),
			})
		}
	return [...out.values()]
}

/* The tasks of the document itself, where it wants one to wait for or to promise. */
function tasksAt(p: Place): string[] {
	const [last, above] = [p.path.at(-1), p.path.at(-2)],
		isTask = (typeof last === 'number' && above === 'needs') || last === 'task'
	if (!isTask || !record(p.doc) || !record(p.doc.tasks)) return []
	const own = p.path[0] === 'tasks' ? p.path[1] : undefined
	return Object.keys(p.doc.tasks).filter(t => t !== own)
}

function valuesAt(reader: Reader, p: Place): Offer[] {
	const parts = reader.at(p.path, p.doc)
	const one = (value: string, kind: Offer['kind'], help: string): Offer => ({
		from: p.from,
		to: p.to,
		label: value,
		apply: plain(value),
		kind,
		detail: '',
		help,
		must: false,
	})
	return [
		...tasksAt(p).map(t => one(t, 'task', '')),
		...valuesOf(parts)
			.filter(v => v.value !== '')
			.map(v => one(v.value, 'value', v.help)),
	]
}

export function offersAt(reader: Reader, text: string, pos: number): Offer[] {
	return placesAt(text, pos).flatMap(p => (p.kind === 'key' ? keysAt(reader, text, p) : valuesAt(reader, p)))
}

export interface Help {
	from: number
	to: number
	name: string
	help: string
	detail: string
}

/* What is known of the key or value at a position. */
export function helpAt(reader: Reader, doc: Document, pos: number): Help | undefined {
	const spot = spotAt(doc, pos)
	if (!spot) return undefined
	const parts = reader.at(spot.path, valueOf(doc))
	const value = into(valueOf(doc), spot.path)
	const own = spot.key ? undefined : parts.find(p => 'const' in p && p.const === value && p.description)
	const help = own?.description ?? helpOf(parts)
	if (!help) return undefined
	const key = [...spot.path].reverse().find(s => typeof s === 'string') ?? ''
	return { from: spot.from, to: spot.to, name: own ? String(value) : key, help, detail: own ? '' : detailOf(parts) }
}

export interface Found extends Mark {
	from: number
	to: number
}

const LONG = 400_000
/* A text with a word that YAML reads as true or false is taken by the server where a text is wanted. */
const isText = (m: Mark, value: unknown) =>
	typeof value === 'boolean' && (m.wrong === 'type' ? m.args.types!.includes('string') : m.wrong === 'form')

/* What does not fit; nothing of what is no YAML, or longer than anybody writes by hand. */
export function marksOf(reader: Reader, text: string): Found[] {
	if (!text.trim() || text.length > LONG) return []
	const doc = read(text)
	if (doc.errors.length) return []
	const value = valueOf(doc),
		seen = new Set<string>()
	return reader
		.judge(reader.root, value, [])
		.filter(m => !isText(m, into(value, m.path)))
		.map(m => {
			const [from, to] = rangeOf(doc, m.path, m.key ?? false)
			return { ...m, from, to: Math.max(to, from) }
		})
		.filter(m => {
			const id = `${m.from} ${m.wrong} ${m.args.key ?? ''}`
			return !seen.has(id) && seen.add(id)
		})
}
