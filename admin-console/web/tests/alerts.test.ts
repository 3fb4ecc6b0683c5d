import { describe, expect, it } from 'vitest'
import { alike, fresh, look, order, wants, type AlertRow } from '@/domain/alerts'

const a = (id: string, more: Partial<AlertRow> = {}): AlertRow => ({
	id,
	kind: 'failed',
	severity: 'critical',
	state: 'open',
	subject: 'p/w/t',
	since: `2026-03-01T00:00:0${id}Z`,
	silenced: null,
	acknowledged: null,
	...more,
})

describe('alerts', () => {
	const all = [
		a('1', { acknowledged: { by: 'ann' } }),
		a('2', { severity: 'warning' }),
		a('3'),
		a('4'),
		a('5', { silenced: 'maintenance' }),
		a('6', { state: 'ended' }),
		a('7', { severity: 'notice' }),
	]
	it('that nobody has stand first, the gravest and newest before', () => {
		expect(order(all).map(x => x.id)).toEqual(['4', '3', '2', '7', '6', '5', '1'])
		expect(all.filter(wants).map(x => x.id)).toEqual(['2', '3', '4', '7'])
	})
	it('are said once, when grave enough', () => {
		const one = fresh(all, ['3'])
		expect(one.news.map(x => x.id)).toEqual(['2', '4'])
		expect(fresh(all, one.said).news).toEqual([])
		expect(fresh(all, [], 'critical').news.map(x => x.id)).toEqual(['3', '4'])
		expect(fresh([], one.said).said).toEqual([]) // what is gone is forgotten
	})
	it('look grave by shape, ended ones quiet', () => {
		expect(all.map(look)).toEqual(['failed', 'late', 'failed', 'failed', 'failed', 'succ', 'ready'])
	})
	it('have rules that are read in one line for each receiver, tasks alike together', () => {
		const r = (kind: string, to: string, after_s = 0) => ({ kind, to, after_s, from: 'workflow' })
		const got = alike([
			{ task: 'x', rules: [r('failed', 'm'), r('late', 'm'), r('failed', 'p', 60)] },
			{ task: 'y', rules: [r('failed', 'm'), r('late', 'm'), r('failed', 'p', 60)] },
			{ task: 'z', rules: [] },
		])
		expect(got.map(g => [g.tasks, g.rules.map(l => [l.to, l.kinds.join('+'), l.after_s])])).toEqual([
			[
				['x', 'y'],
				[
					['m', 'failed+late', 0],
					['p', 'failed', 60],
				],
			],
			[['z'], []],
		])
	})
})
