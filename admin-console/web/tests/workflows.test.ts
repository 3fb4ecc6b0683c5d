import { describe, expect, it } from 'vitest'
import type { Document, Task } from '@/api/client'
import { narrowed, onlineOf, rowsOf } from '@/workflows/state'

const doc = (id: number, name: string, retired = false) => ({ id, name, retired }) as unknown as Document
const task = (workflow_id: number, state: string, owner = '', type = 'shell') =>
	({ workflow_id, state, owner, type, frozen: false }) as unknown as Task
const rows = rowsOf(
	[doc(2, 'q/late'), doc(1, 'p/early'), doc(3, 'p/gone', true), doc(4, 'p/empty')],
	[
		task(1, 'online', 'chen'),
		task(1, 'online', 'chen', 'noop'),
		task(1, 'retired', 'old'),
		task(2, 'online', 'lin'),
		{ ...task(2, 'offline', 'zhao'), frozen: true },
	],
)

describe('the list of workflows', () => {
	it('goes by name, without what is retired', () => {
		expect(rows.map(r => r.doc.name)).toEqual(['p/early', 'p/empty', 'q/late'])
	})
	it('says of each what its tasks are', () => {
		expect(rows[0]).toMatchObject({ project: 'p', state: 'online', owners: 'chen', types: 'shell, noop', frozen: 0 })
		expect(rows[0]!.tasks).toHaveLength(2)
		expect(rows[1]).toMatchObject({ state: 'offline', owners: '' })
		expect(rows[2]).toMatchObject({ state: 'partly', owners: 'lin, zhao', frozen: 1 })
	})
	it('says of one whether it is online', () => {
		expect(onlineOf([])).toBe('offline')
		expect(onlineOf([{ state: 'online' }, { state: 'offline' }])).toBe('partly')
		expect(onlineOf([{ state: 'online' }])).toBe('online')
	})
	it('is narrowed by project, by state, by how the last run ended', () => {
		const names = (project: string, show: string) =>
			narrowed(rows, project, show, r => (r.project === 'q' ? 'retry' : 'succ')).map(r => r.doc.name)
		expect(names('', '')).toHaveLength(3)
		expect(names('p', '')).toEqual(['p/early', 'p/empty'])
		expect(names('', 'partly')).toEqual(['q/late'])
		expect(names('', 'failing')).toEqual(['q/late'])
		expect(names('p', 'failing')).toEqual([])
	})
})
