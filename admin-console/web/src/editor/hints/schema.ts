/* A JSON Schema (2020-12) as the server makes it of the readers' tables: which of it is said of a place, and what of a
 * value does not fit. Only the words that the server writes; one it does not know refuses nothing. Pure. */

export interface Schema {
	$ref?: string
	$defs?: Record<string, Schema>
	description?: string
	default?: unknown
	type?: string | string[]
	const?: unknown
	enum?: unknown[]
	pattern?: string
	minLength?: number
	maxLength?: number
	minimum?: number
	maximum?: number
	items?: Schema
	minItems?: number
	maxItems?: number
	required?: string[]
	properties?: Record<string, Schema | boolean>
	additionalProperties?: Schema | boolean
	propertyNames?: Schema
	minProperties?: number
	dependentSchemas?: Record<string, Schema>
	anyOf?: Schema[]
	allOf?: Schema[]
	oneOf?: Schema[]
	not?: Schema
	if?: Schema
	then?: Schema
	else?: Schema
}
export type Step = string | number
export type Wrong = 'unknown' | 'missing' | 'type' | 'choice' | 'range' | 'length' | 'form' | 'name' | 'apart' | 'few'

export interface Mark {
	path: readonly Step[]
	/* Of the key itself, not of its value. */
	key?: boolean
	wrong: Wrong
	args: Record<string, string>
	/* What the schema says of the place. */
	help?: string
}

const record = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v)

function typeOf(v: unknown): string {
	if (v === null || v === undefined) return 'null'
	if (Array.isArray(v)) return 'array'
	if (typeof v === 'number') return Number.isInteger(v) ? 'integer' : 'number'
	return typeof v
}
const typesOf = (s: Schema) => (s.type === undefined ? [] : Array.isArray(s.type) ? s.type : [s.type])
const isOf = (v: unknown, types: readonly string[]) =>
	types.includes(typeOf(v)) || (typeOf(v) === 'integer' && types.includes('number'))

const compiled = new Map<string, RegExp | null>()
function regex(text: string): RegExp | null {
	let r = compiled.get(text)
	if (r === undefined) {
		try {
			r = new RegExp(text, 'u')
		} catch {
			r = null
		}
		compiled.set(text, r)
	}
	return r
}

export class Reader {
	constructor(readonly root: Schema) {}

	private named(s: Schema): Schema | undefined {
		const name = /^#\/\$defs\/(.+)$/.exec(s.$ref ?? '')?.[1]
		return name === undefined ? undefined : this.root.$defs?.[name]
	}

	/* All that is said of a value here: of alternatives each, of a condition what it comes to for this value. */
	parts(list: readonly Schema[], value: unknown): Schema[] {
		const out: Schema[] = [],
			seen = new Set<Schema>()
		const walk = (s: Schema | boolean | undefined) => {
			if (!s || typeof s === 'boolean' || seen.has(s)) return
			seen.add(s)
			out.push(s)
			walk(this.named(s))
			for (const x of [...(s.allOf ?? []), ...(s.anyOf ?? []), ...(s.oneOf ?? [])]) walk(x)
			if (s.if) walk(this.fits(s.if, value) ? s.then : s.else)
		}
		list.forEach(walk)
		return out
	}

	/* One step down. */
	child(parts: readonly Schema[], step: Step): Schema[] {
		const out: Schema[] = []
		for (const p of parts) {
			const next =
				typeof step === 'number'
					? p.items
					: p.properties && Object.hasOwn(p.properties, step)
						? p.properties[step]
						: p.additionalProperties
			if (next && typeof next !== 'boolean') out.push(next)
		}
		return out
	}

	/* What is said of the place; `doc` is the document's value. */
	at(path: readonly Step[], doc: unknown): Schema[] {
		let parts = this.parts([this.root], record(doc) ? doc : {}),
			value = doc
		for (const step of path) {
			value = record(value) || Array.isArray(value) ? (value as Record<Step, unknown>)[step] : undefined
			parts = this.parts(this.child(parts, step), value)
		}
		return parts
	}

	fits = (s: Schema, value: unknown): boolean => this.judge(s, value, []).length === 0

	judge(s: Schema, value: unknown, path: readonly Step[], help?: string): Mark[] {
		const out: Mark[] = [],
			said = s.description ?? help
		const mark = (wrong: Wrong, args: Record<string, string> = {}, at = path, key = false) =>
			out.push({ path: at, wrong, args, help: said, key })
		const sub = (x: Schema, at = path, v = value) => out.push(...this.judge(x, v, at, at === path ? said : undefined))
		const named = this.named(s)
		if (named) sub(named)
		const types = typesOf(s)
		if (types.length && !isOf(value, types)) {
			mark('type', { types: types.join(', ') })
			return out
		}
		if (s.enum && !s.enum.includes(value)) mark('choice', { choices: s.enum.map(String).join(', ') })
		if ('const' in s && s.const !== value) mark('choice', { choices: String(s.const) })
		this.scalar(s, value, mark)
		if (Array.isArray(value)) {
			if (s.minItems && value.length < s.minItems) mark('few', { n: String(s.minItems) })
			if (s.items) value.forEach((v, n) => sub(s.items!, [...path, n], v))
		}
		if (record(value)) this.members(s, value, path, mark, sub)
		s.allOf?.forEach(x => sub(x))
		for (const all of [s.anyOf, s.oneOf]) if (all) out.push(...this.nearest(all, value, path, said))
		if (s.not && this.fits(s.not, value)) mark('apart', { keys: (s.not.required ?? []).join(', ') })
		if (s.if) {
			const then = this.fits(s.if, value) ? s.then : s.else
			if (then) sub(then)
		}
		return out
	}

	private scalar(s: Schema, value: unknown, mark: (w: Wrong, a?: Record<string, string>) => void) {
		if (typeof value === 'string') {
			if (s.pattern && regex(s.pattern)?.test(value) === false) mark('form')
			const n = [...value].length
			if (n < (s.minLength ?? 0) || n > (s.maxLength ?? Infinity))
				mark('length', { min: String(s.minLength ?? 0), max: String(s.maxLength ?? '') })
		}
		if (typeof value === 'number' && (value < (s.minimum ?? -Infinity) || value > (s.maximum ?? Infinity)))
			mark('range', { min: String(s.minimum ?? ''), max: String(s.maximum ?? '') })
	}

	private members(
		s: Schema,
		value: Record<string, unknown>,
		path: readonly Step[],
		mark: (w: Wrong, a?: Record<string, string>, at?: readonly Step[], key?: boolean) => void,
		sub: (x: Schema, at?: readonly Step[], v?: unknown) => void,
	) {
		for (const k of s.required ?? []) if (!Object.hasOwn(value, k)) mark('missing', { key: k })
		if (s.minProperties && Object.keys(value).length < s.minProperties) mark('few', { n: String(s.minProperties) })
		for (const [k, v] of Object.entries(value)) {
			const at = [...path, k],
				own = s.properties && Object.hasOwn(s.properties, k) ? s.properties[k] : undefined
			if (own === false) mark('apart', { keys: k }, at, true)
			else if (own && own !== true) sub(own, at, v)
			else if (own === undefined && s.additionalProperties === false)
				mark('unknown', { key: k, near: near(k, Object.keys(s.properties ?? {})) }, at, true)
			else if (own === undefined && record(s.additionalProperties)) sub(s.additionalProperties as Schema, at, v)
			if (s.propertyNames && !this.fits(s.propertyNames, k)) mark('name', { key: k }, at, true)
			const then = s.dependentSchemas?.[k]
			if (then) sub(then)
		}
	}

	/* One of them fits; else the marks of the one that came farthest, and of several choices their sum. */
	private nearest(all: readonly Schema[], value: unknown, path: readonly Step[], help?: string): Mark[] {
		const tried = all.map(x => this.judge(x, value, path, help))
		if (tried.some(t => !t.length)) return []
		const missing = tried.map(t => (t.length === 1 && t[0]!.wrong === 'missing' ? t[0]!.args.key! : ''))
		if (missing.every(Boolean)) return [{ path, wrong: 'missing', args: { key: missing.join(' / ') }, help }]
		const own = (t: Mark[]) => t.every(m => m.path.length > path.length)
		const deep = tried.find(own)
		if (deep) return deep
		const choices = tried.flatMap(t => t.filter(m => m.wrong === 'choice').map(m => m.args.choices!))
		const form = tried.find(t => t.some(m => m.wrong !== 'choice' && m.wrong !== 'type'))
		if (choices.length && !form) return [{ path, wrong: 'choice', args: { choices: choices.join(', ') }, help }]
		return form && !choices.length ? form : [{ path, wrong: 'form', args: { choices: choices.join(', ') }, help }]
	}
}

/* The word that was meant: at most two letters are others, or away. */
export function near(word: string, all: readonly string[]): string {
	let best = '',
		least = Math.min(3, Math.max(2, word.length - 1))
	for (const w of all) {
		const d = distance(word.toLowerCase(), w)
		if (d < least) [best, least] = [w, d]
	}
	return best
}

function distance(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, i) => i)
	for (let i = 1; i <= a.length; i++) {
		const next = [i]
		for (let j = 1; j <= b.length; j++)
			next[j] = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
		row = next
	}
	return row[b.length]!
}
