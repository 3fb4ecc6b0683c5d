/* Places in a text of YAML: which value or key stands at a position, also while it is half typed, and where a path stands. Pure. */
import {
	isCollection,
	isMap,
	isPair,
	isScalar,
	isSeq,
	parseDocument,
	type Document,
	type Pair,
	type Scalar,
} from 'yaml'
import type { Step } from './schema'

export interface Place {
	/* Of the map or list that holds what is typed. */
	within: readonly Step[]
	/* `key`: a key of that map; else the value at `path`. */
	kind: 'key' | 'value'
	path: readonly Step[]
	from: number
	to: number
	/* The key has its colon already. */
	colon: boolean
	/* Inside { } or [ ]. */
	flow: boolean
	/* The document as it is without what is typed. */
	doc: unknown
}

const MARK = 'sirdar0cursor0mark'
/* Keys that are written twice are still two keys; what is no YAML yet gives what could be read of it. */
const options = { schema: 'core', uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const
export const read = (text: string) => parseDocument(text, options)

export function valueOf(doc: Document): unknown {
	try {
		return doc.toJS({ maxAliasCount: 200 })
	} catch {
		return {}
	}
}

const WORD = /[^\s,[\]{}#:'"|>&*!%@`]*$/u
const WORD_ON = /^[^\s,[\]{}#:'"|>&*!%@`]*/u

interface Hit {
	path: Step[]
	key: boolean
	flow: boolean
}

/* Where the mark stands. */
function seek(node: unknown, path: Step[], flow: boolean): Hit | undefined {
	if (isScalar(node)) return node.value === MARK && node.type === 'PLAIN' ? { path, key: false, flow } : undefined
	if (!isCollection(node)) return undefined
	const inner = flow || !!node.flow
	if (isSeq(node)) {
		for (let n = 0; n < node.items.length; n++) {
			const hit = seek(node.items[n], [...path, n], inner)
			if (hit) return hit
		}
	} else if (isMap(node))
		for (const p of node.items as Pair[]) {
			const name = isScalar(p.key) ? String(p.key.value) : ''
			if (name === MARK) return { path: [...path, MARK], key: true, flow: inner }
			const hit = seek(p.value, [...path, name], inner)
			if (hit) return hit
		}
	return undefined
}

/* The document without the mark, for what its other keys say. */
function without(v: unknown): unknown {
	if (Array.isArray(v)) return v.map(without)
	if (v && typeof v === 'object')
		return Object.fromEntries(
			Object.entries(v)
				.filter(([k]) => k !== MARK)
				.map(([k, x]) => [k, without(x)]),
		)
	return v === MARK ? null : v
}

/* What can stand at the cursor: in a list of names both a name and a key of a map. */
export function placesAt(text: string, pos: number): Place[] {
	const line = text.lastIndexOf('\n', pos - 1) + 1
	const from = pos - WORD.exec(text.slice(line, pos))![0].length,
		to = pos + WORD_ON.exec(text.slice(pos))![0].length,
		colon = /^[ \t]*:(\s|$)/.test(text.slice(to))
	const before = text.slice(line, from),
		opens = /^\s*(- +)*$/.test(before)
	const out: Place[] = []
	for (const suffix of colon ? [''] : opens ? [':', ''] : ['']) {
		const doc = read(text.slice(0, from) + MARK + suffix + text.slice(to))
		const hit = seek(doc.contents, [], false)
		if (!hit) continue
		/* A key of a map that a list's other items show to be texts is none. */
		const kind = hit.key ? 'key' : 'value'
		if (kind === 'value' && opens && typeof hit.path.at(-1) === 'string') continue
		if (out.some(p => p.kind === kind)) continue
		out.push({
			within: hit.path.slice(0, -1),
			kind,
			path: hit.path,
			from,
			to,
			colon,
			flow: hit.flow,
			doc: without(valueOf(doc)),
		})
	}
	return out
}

export interface Spot {
	path: Step[]
	key: boolean
	from: number
	to: number
}

const holds = (n: Scalar, pos: number) => !!n.range && n.range[0] <= pos && pos <= n.range[1]

/* The key or plain value that stands at a position. */
export function spotAt(doc: Document, pos: number): Spot | undefined {
	const down = (node: unknown, path: Step[]): Spot | undefined => {
		if (isScalar(node))
			return holds(node, pos) ? { path, key: false, from: node.range![0], to: node.range![1] } : undefined
		if (isSeq(node)) return first(node.items.map((x, n) => () => down(x, [...path, n])))
		if (isMap(node)) return first((node.items as Pair[]).map(p => () => ofPair(p, path)))
		return undefined
	}
	const ofPair = (p: Pair, path: Step[]): Spot | undefined => {
		if (!isScalar(p.key)) return undefined
		const at = [...path, String(p.key.value)]
		if (holds(p.key, pos)) return { path: at, key: true, from: p.key.range![0], to: p.key.range![1] }
		return down(p.value, at)
	}
	return down(doc.contents, [])
}
function first<T>(all: (() => T | undefined)[]): T | undefined {
	for (const one of all) {
		const got = one()
		if (got !== undefined) return got
	}
	return undefined
}

/* Where a path stands: of its key, or of its value; of a map without that key its own key. */
export function rangeOf(doc: Document, path: readonly Step[], key: boolean): [number, number] {
	let node: unknown = doc.contents,
		last: [number, number] = [0, 0]
	for (const [n, step] of path.entries()) {
		let pair: Pair | undefined
		if (isMap(node)) pair = (node.items as Pair[]).find(p => isScalar(p.key) && String(p.key.value) === String(step))
		if (pair && isScalar(pair.key) && pair.key.range) last = [pair.key.range[0], pair.key.range[1]]
		node = pair ? pair.value : isSeq(node) ? node.items[Number(step)] : undefined
		if (key && n === path.length - 1) return last
	}
	if (isScalar(node) && node.range && node.range[1] > node.range[0]) return [node.range[0], node.range[1]]
	if (isPair(node)) return last
	return last
}
