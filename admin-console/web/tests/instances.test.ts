import { describe, expect, it } from 'vitest'
import { parse } from '@/domain/query'
import { allIn, everyId, filterOf, forgotten, kept, orderNext, percent, rowKey, turned } from '@/instances/state'

const row = (id: string, dates?: number) => (dates ? { id, dates } : { id })
const rows = [row('a'), row('b'), row('c', 40), row('d')]
const ids = (s: Set<string>) => [...s].join('')

describe('rows that are picked', () => {
	it('are turned over one by one', () => {
		const one = turned(rows, new Set(), 1)
		expect(ids(one)).toBe('b')
		expect(ids(turned(rows, one, 1))).toBe('')
		expect(ids(turned(rows, one, 0))).toBe('ba')
	})
	it('are a range, either way, which only adds', () => {
		expect(ids(turned(rows, new Set(), 3, 0))).toBe('abd')
		expect(ids(turned(rows, new Set(['b']), 0, 3))).toBe('bad')
		expect(ids(turned(rows, new Set(['b']), 1, 1))).toBe('b')
	})
	it('stay when what was picked is left as it was', () => {
		const before = new Set(['a'])
		turned(rows, before, 1)
		expect(ids(before)).toBe('a')
	})
	it('are never dates left out together, which hinder no whole either', () => {
		expect(ids(turned(rows, new Set(), 2))).toBe('')
		expect(ids(everyId(rows))).toBe('abd')
		expect(allIn(rows, everyId(rows))).toBe(true)
		expect(allIn(rows, new Set(['a', 'b']))).toBe(false)
		expect(allIn([], new Set())).toBe(false)
	})
	it('have a key of their own, as dates have theirs', () => {
		expect(rowKey(row('7'))).not.toBe(rowKey(row('7', 3)))
	})
})

describe('the list of instances', () => {
	it('is asked for as the bar says, brokers by their number', () => {
		const asked = filterOf(parse('task:p/w/* state:killed broker:b2'), [
			{ id: 4, name: 'b1' },
			{ id: 9, name: 'b2' },
		])
		expect(asked).toMatchObject({ task: 'p/w/*', states: 'Killed', broker_id: 9 })
		expect(filterOf(parse('state:killed'), []).broker_id).toBeUndefined()
	})
	it('turns round when its head is pressed again', () => {
		expect(orderNext(false, 'asc')).toBe('desc')
		expect(orderNext(true, 'desc')).toBe('asc')
		expect(orderNext(true, 'asc')).toBe('desc')
	})
	it('says how far a job is when the job did', () => {
		expect(percent()).toBe('')
		expect(percent(0)).toBe('0%')
		expect(percent(999)).toBe('99%')
	})
})

describe('views that one keeps', () => {
	const views = Array.from({ length: 20 }, (_, n) => ({ name: 'v' + n, q: 'q' + n }))
	it('are the newest first, each once, and not more than twenty', () => {
		expect(kept(views, 'q7').map(v => v.q)).toEqual(['q7', ...views.filter(v => v.q !== 'q7').map(v => v.q)])
		expect(kept(views, 'new')).toHaveLength(20)
	})
	it('are forgotten by what they ask', () => {
		expect(forgotten(views, 'q3')).toHaveLength(19)
	})
})
