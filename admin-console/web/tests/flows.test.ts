import { describe, expect, it } from 'vitest'
import type { Run } from '@/api/client'
import { byDay } from '@/domain/runs'
import { copyOf, freeCopy, fullName } from '@/editor/copy'

const text = `# why it is
workflow: a
project: p
state: online
start_date: 2026-11-01
defaults: {cycle: day, state: online}
tasks:
  one: {state: online}
  two: {needs: [one]}
`

describe('a copy of a workflow', () => {
	it('has the new name, the schedule, the tasks and the comments', () => {
		const t = copyOf(text, 'q/b', false)
		expect(t).toContain('workflow: b\nproject: q\nstate: online\n')
		expect(t).toContain('# why it is')
		expect(t).toContain('start_date: 2026-11-01')
		expect(t).toContain(
			'two: {needs: [one]}'.replace('{', '{ ').replace('}', ' }').replace('[', '[ ').replace(']', ' ]'),
		)
	})
	it('is offline whatever its tasks say', () => {
		const t = copyOf(text, 'p/b', true)
		expect(t.match(/state:/g)).toHaveLength(1)
		expect(t).toContain('state: offline')
	})
	it('of a pipeline stays a pipeline, without a project it gets one', () => {
		expect(copyOf('pipeline: a\nsteps: []\n', 'p/b', false)).toBe('pipeline: b\nsteps: []\nproject: p\n')
	})
	it('takes a name that is free and whole', () => {
		expect(freeCopy('p/a', new Set(['p/a', 'p/a_copy', 'p/a_copy2']))).toBe('p/a_copy3')
		expect(['p/a', 'p', 'p/', 'p/a/b', 'p/a b'].map(fullName)).toEqual([true, false, false, false, false])
	})
})

describe('runs by day', () => {
	const run = (label: string, states: Record<string, number>) =>
		({ label, from: label, to: label, total: 1, forced: 0, frozen: 0, states }) as Run
	it('begin on a Monday, show the worst of a day and open it', () => {
		const days = byDay(
			[
				run('2026-11-20T05:00:00Z', { Succ: 1 }),
				run('2026-11-20T04:00:00Z', { StopSchedule: 1 }),
				run('2026-11-18T00:00:00Z', { Succ: 2 }),
			],
			'2026-11-21',
			5,
		)
		expect(days[0]!.day).toBe('2026-11-16')
		expect(days).toHaveLength(6)
		expect(days.map(d => d.kind)).toEqual([null, null, 'succ', null, 'failed', null])
		expect(days[4]!.run!.label).toBe('2026-11-20T04:00:00Z')
		expect(days[4]!.runs).toHaveLength(2)
	})
})
