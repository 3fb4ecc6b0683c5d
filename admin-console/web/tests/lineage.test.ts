import { describe, expect, it } from 'vitest'
import { ended, graphOf, kindOfNode, labelOf, overdue, type Lineage } from '@/domain/lineage'

const node = (id: number, name: string, states: Record<string, number>, more = {}) => ({
	id,
	name,
	level: 0,
	tasks: 3,
	forced: 0,
	type: '',
	states,
	run_date: null,
	due: null,
	closed: false,
	...more,
})

describe('lineage', () => {
	const l: Lineage = {
		of: 'p/b',
		by: 'workflow',
		cut: false,
		nodes: [
			node(2, 'p/b', { Succ: 2, StopSchedule: 1 }),
			node(1, 'p/a', {}),
			node(3, 'q/c', { Succ: 3 }, { forced: 1 }),
		],
		links: [
			{ from: 1, to: 2, count: 4 },
			{ from: 2, to: 3, count: 1 },
			{ from: 2, to: 99, count: 1 },
		],
	}
	it('is a graph by name, without links to what is not drawn', () => {
		const g = graphOf(l)
		expect(g.nodes.map(n => n.label)).toEqual(['b', 'a', 'q/c'])
		expect(g.edges).toEqual([
			{ from: 'p/a', to: 'p/b' },
			{ from: 'p/b', to: 'q/c' },
		])
	})
	it('says the worst of each, forced is not success, nothing ran is no state', () => {
		expect(l.nodes.map(kindOfNode)).toEqual(['failed', null, 'forced'])
		expect(l.nodes.map(ended)).toEqual([3, 0, 3])
	})
	it('shortens names by what they share', () => {
		expect(labelOf('p/w/x', 'p/w/y')).toBe('x')
		expect(labelOf('p/v/x', 'p/w/y')).toBe('v/x')
		expect(labelOf('p/b', 'p/b')).toBe('b')
	})
	it('is overdue by what has not ended alone', () => {
		expect(overdue(node(1, 'p/a', {}, { due: '2026-03-01T00:00:00Z' }), Date.parse('2026-03-01T02:00:00Z'))).toBe(
			7_200_000,
		)
		expect(overdue(node(1, 'p/a', {}), Date.parse('2026-03-01T02:00:00Z'))).toBe(0)
	})
})
