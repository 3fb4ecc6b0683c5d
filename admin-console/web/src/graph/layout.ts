/* Layers from left to right: longest path, dummies for long edges, median sweeps, then rows as
 * near to their neighbours as the order allows. Components are laid out apart and stacked. The same
 * input gives the same picture. */
import type { Model } from './model'

export interface Size {
	width: number
	height: number
	gapX: number
	gapY: number
}
export interface Layout {
	x: Float64Array
	y: Float64Array
	layer: Int32Array
	layers: number
	width: number
	height: number
}

/* More nodes than these are laid out beside the page (away.ts). */
export const FAR = 300

export const runSize: Size = { width: 188, height: 30, gapX: 56, gapY: 10 }

/* Layers by longest path from the roots; an edge that would close a circle counts as none. */
export function layersOf(m: Model): Int32Array {
	const n = m.nodes.length,
		layer = new Int32Array(n),
		open = new Int32Array(n)
	const mark = new Uint8Array(n),
		back = new Set<string>()
	for (let root = 0; root < n; root++) {
		if (mark[root]) continue
		const stack: [number, number][] = [[root, 0]]
		mark[root] = 1
		while (stack.length) {
			const top = stack[stack.length - 1]!,
				next = m.out[top[0]]![top[1]++]
			if (next === undefined) {
				mark[top[0]] = 2
				stack.pop()
			} else if (mark[next] === 1) back.add(top[0] + '>' + next)
			else if (!mark[next]) {
				mark[next] = 1
				stack.push([next, 0])
			}
		}
	}
	for (const e of m.edges) if (!back.has(e.from + '>' + e.to)) open[e.to]!++
	const todo: number[] = []
	for (let i = 0; i < n; i++) if (!open[i]) todo.push(i)
	for (let k = 0; k < todo.length; k++) {
		const a = todo[k]!
		for (const b of m.out[a]!) {
			if (back.has(a + '>' + b)) continue
			layer[b] = Math.max(layer[b]!, layer[a]! + 1)
			if (--open[b]! === 0) todo.push(b)
		}
	}
	/* A root goes as near to its children as it can: long edges say nothing. */
	for (let k = todo.length - 1; k >= 0; k--) {
		const a = todo[k]!
		if (m.into[a]!.length || !m.out[a]!.length) continue
		layer[a] = Math.max(layer[a]!, Math.min(...m.out[a]!.map(b => layer[b]!)) - 1)
	}
	return layer
}

function components(m: Model): number[][] {
	const of = new Int32Array(m.nodes.length).fill(-1),
		all: number[][] = []
	for (let i = 0; i < of.length; i++) {
		if (of[i] !== -1) continue
		const mine = [i]
		of[i] = all.length
		for (let k = 0; k < mine.length; k++) {
			for (const j of [...m.out[mine[k]!]!, ...m.into[mine[k]!]!])
				if (of[j] === -1) {
					of[j] = all.length
					mine.push(j)
				}
		}
		all.push(mine.sort((a, b) => a - b))
	}
	return all.sort((a, b) => b.length - a.length || a[0]! - b[0]!)
}

interface Part {
	order: number[][]
	up: number[][]
	down: number[][]
	n: number
}

/* Nodes 0..real-1 of the component, dummies after; each layer a list. */
function chains(m: Model, mine: number[], layer: Int32Array): Part {
	const local = new Map(mine.map((g, i) => [g, i])),
		order: number[][] = [],
		up: number[][] = mine.map(() => []),
		down: number[][] = mine.map(() => [])
	let n = mine.length
	mine.forEach((g, i) => {
		;(order[layer[g]!] ??= []).push(i)
	})
	for (const g of mine) {
		for (const h of m.out[g]!) {
			const from = layer[g]!,
				to = layer[h]!
			if (to <= from) continue
			let last = local.get(g)!
			for (let k = from + 1; k < to; k++) {
				up[n] = [last]
				down[n] = []
				down[last]!.push(n)
				;(order[k] ??= []).push(n)
				last = n++
			}
			down[last]!.push(local.get(h)!)
			up[local.get(h)!]!.push(last)
		}
	}
	for (let k = 0; k < order.length; k++) order[k] ??= []
	return { order, up, down, n }
}

function median(near: number[], pos: Float64Array): number {
	if (!near.length) return -1
	const p = near.map(x => pos[x]!).sort((a, b) => a - b),
		mid = p.length >> 1
	return p.length % 2 ? p[mid]! : (p[mid - 1]! + p[mid]!) / 2
}

function sweep(p: Part) {
	const pos = new Float64Array(p.n)
	const number = (list: number[]) =>
		list.forEach((x, i) => {
			pos[x] = i
		})
	p.order.forEach(number)
	const rounds = p.n > 4000 ? 4 : p.n > 1000 ? 8 : 16
	for (let r = 0; r < rounds; r++) {
		const fall = r % 2 === 0,
			near = fall ? p.up : p.down
		for (let k = fall ? 1 : p.order.length - 2; fall ? k < p.order.length : k >= 0; k += fall ? 1 : -1) {
			const list = p.order[k]!,
				key = new Map(
					list.map((x, i) => {
						const q = median(near[x]!, pos)
						return [x, q < 0 ? i : q]
					}),
				)
			list.sort((a, b) => key.get(a)! - key.get(b)! || pos[a]! - pos[b]!)
			number(list)
		}
	}
}

/* Rows: pulled to the mean of their neighbours, kept in order with a distance of one at least. */
function rows(p: Part): Float64Array {
	const y = new Float64Array(p.n)
	p.order.forEach(list =>
		list.forEach((x, i) => {
			y[x] = i
		}),
	)
	const apart = (a: number, b: number, real: number) =>
		a < real && b < real ? 1 : a >= real && b >= real ? 0.35 : 0.75
	const real = p.n
	for (let r = 0; r < 12; r++) {
		const fall = r % 2 === 0
		for (let k = fall ? 0 : p.order.length - 1; fall ? k < p.order.length : k >= 0; k += fall ? 1 : -1) {
			const list = p.order[k]!
			const want = list.map(x => {
				const near = r < 10 ? (fall ? p.up[x]! : p.down[x]!) : [...p.up[x]!, ...p.down[x]!]
				return near.length ? near.reduce((a, b) => a + y[b]!, 0) / near.length : y[x]!
			})
			place(list, want, y, apart, real)
		}
	}
	return y
}

/* The nearest places to those wanted that keep order and distance: pooled means (isotonic). */
function place(
	list: number[],
	want: number[],
	y: Float64Array,
	apart: (a: number, b: number, real: number) => number,
	real: number,
) {
	const off: number[] = [0]
	for (let i = 1; i < list.length; i++) off[i] = off[i - 1]! + apart(list[i - 1]!, list[i]!, real)
	const pools: { sum: number; n: number }[] = []
	for (let i = 0; i < list.length; i++) {
		pools.push({ sum: want[i]! - off[i]!, n: 1 })
		while (
			pools.length > 1 &&
			pools[pools.length - 2]!.sum / pools[pools.length - 2]!.n >
				pools[pools.length - 1]!.sum / pools[pools.length - 1]!.n
		) {
			const b = pools.pop()!,
				a = pools[pools.length - 1]!
			a.sum += b.sum
			a.n += b.n
		}
	}
	let i = 0
	for (const q of pools) for (let k = 0; k < q.n; k++, i++) y[list[i]!] = q.sum / q.n + off[i]!
}

export function layOut(m: Model, size: Size = runSize): Layout {
	const n = m.nodes.length,
		x = new Float64Array(n),
		y = new Float64Array(n),
		layer = layersOf(m)
	const stepX = size.width + size.gapX,
		stepY = size.height + size.gapY
	let bottom = 0,
		layers = 0
	const singles: number[] = []
	for (const mine of components(m)) {
		if (mine.length === 1) {
			singles.push(mine[0]!)
			continue
		}
		const part = chains(m, mine, layer)
		sweep(part)
		const at = rows(part)
		let least = Infinity,
			most = -Infinity
		mine.forEach((_, i) => {
			least = Math.min(least, at[i]!)
			most = Math.max(most, at[i]!)
		})
		mine.forEach((g, i) => {
			x[g] = layer[g]! * stepX
			y[g] = bottom + (at[i]! - least) * stepY
			layers = Math.max(layers, layer[g]! + 1)
		})
		bottom += (most - least + 1) * stepY + stepY / 2
	}
	/* Those without links: a block of columns below. */
	const columns = Math.max(1, Math.min(singles.length, Math.max(layers, Math.ceil(Math.sqrt(singles.length / 3)))))
	singles.forEach((g, i) => {
		layer[g] = i % columns
		x[g] = (i % columns) * stepX
		y[g] = bottom + Math.floor(i / columns) * stepY
	})
	layers = Math.max(layers, singles.length ? columns : 0)
	let height = 0
	for (let i = 0; i < n; i++) height = Math.max(height, y[i]! + size.height)
	return { x, y, layer, layers, width: Math.max(0, layers * stepX - size.gapX), height }
}
