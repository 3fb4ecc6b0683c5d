import { describe, expect, it } from 'vitest'
import type { Event } from '@/api/client'
import { attemptsOf } from '@/run/attempts'
import { unfit } from '@/run/state'

const event = (from: string, to: string, attempt: number, more: Partial<Event> = {}) =>
	({ from, to, attempt, generation: 1, at: '2026-11-16T00:00:00Z', ...more }) as Event

describe('attempts', () => {
	it('that failed stay failed when the next one is due', () => {
		const all = attemptsOf(
			[
				event('Ready', 'DependenceFinish', 0),
				event('DependenceFinish', 'Running', 1, { broker: 'b1' }),
				event('Running', 'Failed', 1, { exit_code: 3 }),
				event('Failed', 'DependenceFinish', 1),
				event('DependenceFinish', 'Running', 2, { broker: 'b1' }),
				event('Running', 'Succ', 2),
			].reverse(),
		)
		expect(all.map(a => [a.attempt, a.to, a.retried, a.exit])).toEqual([
			[2, 'Succ', false, 0],
			[1, 'Failed', true, 3],
		])
	})
	it('wait for their retry until it is due', () => {
		const [one] = attemptsOf([event('Running', 'Failed', 1, { exit_code: 3 }), event('DependenceFinish', 'Running', 1)])
		expect([one!.to, one!.retried]).toEqual(['Failed', false])
	})
	it('of a sensor are one, which waits between two looks', () => {
		const events = [event('DependenceFinish', 'Running', 1), event('Running', 'Ready', 0, { event: 'not-yet' })]
		const [one] = attemptsOf([...events].reverse())
		expect([one!.attempt, one!.to, one!.ended !== '']).toEqual([1, 'Ready', true])
		expect(attemptsOf([...events, event('Running', 'Succ', 1)].reverse()).map(a => a.to)).toEqual(['Succ'])
	})
	it('that were killed end with the confirmation, not with the wish', () => {
		const [one] = attemptsOf([
			event('Killing', 'Killed', 1, { at: '3' }),
			event('Running', 'WaitKill', 1, { at: '2' }),
			event('DependenceFinish', 'Running', 1, { at: '1' }),
		])
		expect([one!.to, one!.started, one!.ended]).toEqual(['Killed', '1', '3'])
	})
})

describe('parameters of a date that the current version does not resolve', () => {
	it('are not known for the reason that is so', () => {
		const task = { state: 'online', begins: '2026-11-16T00:00:00Z' }
		expect(unfit(undefined, '2026-11-09T00:00:00Z')).toBe('gone')
		expect(unfit({ ...task, state: 'retired' }, '2026-11-17T00:00:00Z')).toBe('gone')
		expect(unfit(task, '2026-11-09T00:00:00Z')).toBe('before')
		expect(unfit(task, '2026-11-17T00:00:00Z')).toBe('unplanned')
		expect(unfit({ state: 'offline', begins: null }, '2026-11-17T00:00:00Z')).toBe('unplanned')
	})
})
