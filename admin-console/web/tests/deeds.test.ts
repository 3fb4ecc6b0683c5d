import { describe, expect, it } from 'vitest'
import { deedOf } from '@/domain/deeds'

const of = (kind: string, args: object, object?: string) => deedOf(kind, JSON.stringify(args), object)

describe('a command as a deed', () => {
	it('says to what, of which dates and why', () => {
		expect(
			of('redo', { selection: { tasks: ['p/w/a'], dates: ['2026-11-19'] }, message: 'memory raised' }),
		).toMatchObject({
			names: ['p/w/a'],
			dates: '2026-11-19',
			why: 'memory raised',
		})
		expect(of('backfill', { selection: { workflow: 'p/w', from: '2026-11-01', to: '2026-11-03' } })).toMatchObject({
			names: ['p/w'],
			dates: '2026-11-01..2026-11-03',
		})
		expect(of('run-start', { selection: { workflow: 'p/w' }, date: 'yesterday' }).dates).toBe('yesterday')
		expect(of('kill', { selection: { tasks: ['a', 'b', 'c'], states: ['Running'] } })).toMatchObject({
			names: ['a', 'b'],
			more: 1,
			states: ['Running'],
		})
	})
	it('counts what has numbers alone, and has no number of a request for a name', () => {
		expect(of('redo', { selection: { instances: [{ id: '7' }, { id: '8' }] } }, 'e3b0c44298')).toMatchObject({
			names: [],
			count: 2,
		})
		expect(of('redo', { selection: { instances: [{ task: 'p/w/a', run_date: '2026-11-19' }] } })).toMatchObject({
			names: ['p/w/a'],
			dates: '2026-11-19',
			count: 0,
		})
	})
	it('names documents, people and machines', () => {
		expect(of('apply', { documents: [{ name: 'trade.yaml', text: '' }] }).names).toEqual(['trade'])
		expect(of('save workflow', {}, 'retail/trade').names).toEqual(['retail/trade'])
		expect(of('user-set', { user: 'lin.yue', role: 'viewer' }).names).toEqual(['lin.yue'])
		expect(deedOf('pool-set', 'no JSON', 'x')).toMatchObject({ names: [], why: '' })
	})
})
