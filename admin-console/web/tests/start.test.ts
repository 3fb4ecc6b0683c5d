/* A run by hand: what the form sends, what keeps it from being asked, what the server's plan of it comes to. */
import { describe, expect, it } from 'vitest'
import { args, begin, fault, labels, outcome } from '@/domain/start'

const form = (more: object) => ({ ...begin('p/w'), ...more })

describe('a run by hand', () => {
	it('sends nothing that was left as it is', () => {
		expect(args(begin('p/w'))).toEqual({ selection: { workflow: 'p/w' } })
		expect(args(form({ date: '  ', params: { a: '' }, more: '\n' }))).toEqual({ selection: { workflow: 'p/w' } })
	})
	it('of a task is that task alone', () => {
		expect(args(begin('p/w', 'p/w/t'))).toEqual({ selection: { tasks: ['p/w/t'] } })
	})
	it('of a part names its edge, and a task that was chosen before counts for a part only', () => {
		expect(args(form({ part: 'upto', task: 'p/w/t' }))).toEqual({ selection: { workflow: 'p/w' }, up_to: 'p/w/t' })
		expect(args(form({ part: 'from', task: 'p/w/t' }))).toEqual({ selection: { workflow: 'p/w' }, from_task: 'p/w/t' })
		expect(args(form({ task: 'p/w/t' }))).toEqual({ selection: { workflow: 'p/w' } })
	})
	it('takes a date as it was written, words too, and says when no job runs', () => {
		expect(args(form({ date: ' yesterday ', noOp: true }))).toEqual({
			selection: { workflow: 'p/w' },
			date: 'yesterday',
			no_op: true,
		})
	})
	it('has a priority where one was chosen', () => {
		expect(args(form({ priority: '8' }))).toEqual({ selection: { workflow: 'p/w' }, priority: 8 })
	})
	it('gives parameters of fields and lines; a value keeps its blanks and signs', () => {
		const f = form({ params: { a: '1', b: '' }, more: 'c = x=y \n\nd=' })
		expect(args(f).params).toEqual({ a: '1', c: ' x=y ', d: '' })
	})
	it('is not asked about without its task, nor with a line that names nothing', () => {
		expect(fault(begin('p/w'))).toBe('')
		expect(fault(form({ part: 'from' }))).toBe('task')
		expect(fault(form({ more: 'a=1\nb' }))).toBe('more')
		expect(fault(form({ more: ' =1' }))).toBe('more')
	})
})

describe('the plan of a run by hand', () => {
	it('starts what is neither left nor refused', () => {
		expect(outcome({ total: 5, unchanged: 2, refusals: 1 })).toEqual({ total: 5, left: 2, refused: 1, starts: 2 })
		expect(outcome(null).starts).toBe(0)
	})
	it('has each date once', () => {
		const sample = ['2026-03-01', '2026-03-01', '2026-03-02'].map(label => ({ label }))
		expect(labels({ sample } as Parameters<typeof labels>[0])).toEqual(['2026-03-01', '2026-03-02'])
	})
})
