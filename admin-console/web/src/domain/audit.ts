/* The audit's chain, followed here: each row's hash is over the one before and its own fields. And what changed in a text. */
import { blake2b } from '@noble/hashes/blake2'
import { bytesToHex } from '@noble/hashes/utils'

export interface Row {
	id: string
	at_us: string
	actor: string
	action: string
	object: string
	detail: string
	hash: string
}

const utf8 = new TextEncoder()
export function hashOf(before: string, r: Row): string {
	const h = blake2b.create({ dkLen: 32 })
	for (const field of [before, r.id, r.at_us, r.actor, r.action, r.object, r.detail]) {
		const b = utf8.encode(field)
		h.update(utf8.encode(b.length + ':')).update(b)
	}
	return bytesToHex(h.digest())
}

export interface Verdict {
	proved: number
	broken: string | null
	missing: string | null
}
/* Rows newest first, without gaps of filters: every row but the last proves itself by the one below it. */
export function follow(rows: readonly Row[]): Verdict {
	let proved = 0
	for (let i = 0; i + 1 < rows.length; i++) {
		const r = rows[i]!,
			before = rows[i + 1]!
		if (BigInt(r.id) !== BigInt(before.id) + 1n) return { proved, broken: null, missing: r.id }
		if (!r.hash || !before.hash) continue
		if (hashOf(before.hash, r) !== r.hash) return { proved, broken: r.id, missing: null }
		proved++
	}
	return { proved, broken: null, missing: null }
}

export interface Line {
	kind: 'same' | 'gone' | 'new'
	text: string
	a: number | null
	b: number | null
}
/* Lines of two texts beside each other; `context` lines around what changed, null where some are left out. */
export function compare(before: string, after: string, context = 2): (Line | null)[] {
	const cut = (s: string) => (s === '' ? [] : s.replace(/\n$/, '').split('\n'))
	const a = cut(before),
		b = cut(after)
	let head = 0
	while (head < a.length && head < b.length && a[head] === b[head]) head++
	let tail = 0
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
	const x = a.slice(head, a.length - tail),
		y = b.slice(head, b.length - tail),
		all: Line[] = []
	for (let i = 0; i < head; i++) all.push({ kind: 'same', text: a[i]!, a: i + 1, b: i + 1 })
	if (x.length * y.length > 4_000_000) {
		x.forEach((t, i) => all.push({ kind: 'gone', text: t, a: head + i + 1, b: null }))
		y.forEach((t, i) => all.push({ kind: 'new', text: t, a: null, b: head + i + 1 }))
	} else {
		const n = y.length + 1,
			best = new Uint32Array((x.length + 1) * n)
		for (let i = x.length - 1; i >= 0; i--)
			for (let j = y.length - 1; j >= 0; j--)
				best[i * n + j] =
					x[i] === y[j] ? best[(i + 1) * n + j + 1]! + 1 : Math.max(best[(i + 1) * n + j]!, best[i * n + j + 1]!)
		for (let i = 0, j = 0; i < x.length || j < y.length; ) {
			if (i < x.length && j < y.length && x[i] === y[j]) {
				all.push({ kind: 'same', text: x[i]!, a: head + i + 1, b: head + j + 1 })
				i++
				j++
			} else if (i < x.length && (j >= y.length || best[(i + 1) * n + j]! >= best[i * n + j + 1]!)) {
				all.push({ kind: 'gone', text: x[i]!, a: head + i + 1, b: null })
				i++
			} else {
				all.push({ kind: 'new', text: y[j]!, a: null, b: head + j + 1 })
				j++
			}
		}
	}
	for (let i = tail; i > 0; i--)
		all.push({ kind: 'same', text: a[a.length - i]!, a: a.length - i + 1, b: b.length - i + 1 })
	const near = all.map(() => false)
	all.forEach((l, i) => {
		if (l.kind !== 'same')
			for (let k = Math.max(0, i - context); k <= Math.min(all.length - 1, i + context); k++) near[k] = true
	})
	const out: (Line | null)[] = []
	all.forEach((l, i) => {
		if (near[i]) out.push(l)
		else if (out.length === 0 || out[out.length - 1] !== null) out.push(null)
	})
	return out
}
