import { expect, test } from 'vitest'
import type { Instance } from '@/api/client'
import { kindsOf } from '@/editor/trial'

const member = (task: string, state: string, id = task + state) =>
	({ id, task: 'retail/shop~1/' + task, state }) as Instance

test('a card shows the state of its task; of several dates the one that a person looks for first', () => {
	const kinds = kindsOf([
		member('load', 'Succ'),
		member('hours', 'Succ', '1'),
		member('hours', 'StopSchedule', '2'),
		member('hours', 'Running', '3'),
		member('ship', 'Ready'),
	])
	expect(Object.fromEntries(kinds)).toEqual({ load: 'succ', hours: 'failed', ship: 'ready' })
	expect(kindsOf([]).size).toBe(0)
})
