/* The layout of graphs: whatever the graph (circles, doubles, thousands of nodes), cards go right and overlap nothing. Graphs
 * are made from a seed. */
import { describe, expect, it } from 'vitest'
import { answer } from '@/graph/answer'
import { layOutAway } from '@/graph/away'
import { layOut, layersOf, runSize } from '@/graph/layout'
import { Model } from '@/graph/model'

let seed = 1
const random = () => {
	seed = (seed * 16807) % 2147483647
	return seed / 2147483647
}

function any(n: number, per: number) {
	const nodes = Array.from({ length: n }, (_, i) => ({ id: 'n' + i, label: 'n' + i }))
	const edges = []
	for (let i = 1; i < n; i++)
		for (let k = 0; k < per; k++) if (random() < 0.8) edges.push({ from: 'n' + Math.floor(random() * i), to: 'n' + i })
	return new Model(nodes, edges)
}

describe('the layout', () => {
	it('goes to the right, overlaps nothing and is the same each time', () => {
		for (let k = 0; k < 60; k++) {
			seed = 7 + k
			const m = any(2 + Math.floor(random() * 60), 2),
				a = layOut(m),
				b = layOut(m)
			expect([...a.x, ...a.y]).toEqual([...b.x, ...b.y])
			for (const e of m.edges) expect(a.x[e.to]!).toBeGreaterThan(a.x[e.from]!)
			for (let i = 0; i < m.nodes.length; i++)
				for (let j = 0; j < i; j++)
					if (a.x[i] === a.x[j]) expect(Math.abs(a.y[i]! - a.y[j]!)).toBeGreaterThanOrEqual(runSize.height)
		}
	})
	it('survives circles, links to itself, links twice and to nobody', () => {
		const m = new Model(
			['a', 'b', 'c'].map(id => ({ id, label: id })),
			[
				['a', 'b'],
				['b', 'c'],
				['c', 'a'],
				['a', 'a'],
				['a', 'b'],
				['a', 'gone'],
			].map(([from, to]) => ({ from: from!, to: to! })),
		)
		expect(m.edges).toHaveLength(3)
		expect([...layersOf(m)]).toEqual([0, 1, 2])
		expect(layOut(m).width).toBeGreaterThan(0)
	})
	it('of nothing is nothing, of one is one', () => {
		expect(layOut(new Model([], []))).toMatchObject({ width: 0, height: 0 })
		expect(layOut(new Model([{ id: 'a', label: 'a' }], []))).toMatchObject({
			width: runSize.width,
			height: runSize.height,
		})
	})
	it('takes thousands', () => {
		seed = 3
		const m = any(3000, 2),
			l = layOut(m)
		expect(l.x.every(Number.isFinite) && l.y.every(Number.isFinite)).toBe(true)
	})
	it('comes out of the worker as it does on the page, and without a worker all the same', async () => {
		seed = 5
		const m = any(400, 2),
			here = layOut(m)
		const there = answer(
			structuredClone({
				number: 9,
				nodes: m.nodes.length,
				from: Int32Array.from(m.edges, e => e.from),
				to: Int32Array.from(m.edges, e => e.to),
				size: runSize,
			}),
		)
		expect(there).toEqual({ number: 9, layout: here })
		expect(await layOutAway(m, runSize)).toEqual(here)
	})
	it('knows what a node holds up', () => {
		const m = new Model(
			['a', 'b', 'c', 'd'].map(id => ({ id, label: id })),
			[
				{ from: 'a', to: 'b' },
				{ from: 'b', to: 'c' },
			],
		)
		expect([...m.reach(0, 'out')].sort()).toEqual([1, 2])
		expect([...m.reach(2, 'into')].sort()).toEqual([0, 1])
	})
})
