import { describe, expect, it } from 'vitest'
import { ApiError, type Event } from '@/api/client'
import { addressOf, addressPath, find, type Asks } from '@/run/link'

const ran = (generation: number, attempt: number) =>
	({ from: 'DependenceFinish', to: 'Running', generation, attempt, at: '2026-11-16T00:00:00Z' }) as Event
const gone = (status: number, message: string) => new ApiError(status, 'E', message)

/* Twice run: three attempts, then two. */
const asks = (more: Partial<Asks> = {}): Asks => ({
	resolve: (task, label) => Promise.resolve({ id: `${task}@${label}`, label }),
	instance: () => Promise.resolve({}),
	history: () => Promise.resolve({ items: [ran(2, 2), ran(2, 1), ran(1, 3), ran(1, 2), ran(1, 1)] }),
	...more,
})
const of = (query: Record<string, unknown> = {}) =>
	addressOf({ project: 'shop', workflow: 'daily', task: 'load', label: '2026-10-25 02:30 (2)' }, query)

describe('a permanent address', () => {
	it('is read back as it was written', () => {
		const path = addressPath({ task: 'shop/日报/load', label: '2026-10-25 02:30 (2)' })
		const [, , project, workflow, task, label] = path.split('/').map(decodeURIComponent)
		expect(addressOf({ project, workflow, task, label }, {})).toEqual({
			task: 'shop/日报/load',
			label: '2026-10-25 02:30 (2)',
			generation: undefined,
			attempt: undefined,
		})
	})
	it('opens the very instance, and the very attempt of the very run', async () => {
		const id = 'shop/daily/load@2026-10-25 02:30 (2)'
		expect(await find(of(), asks())).toMatchObject({ id, lacks: false })
		expect(await find(of({ run: '1', attempt: '2' }), asks())).toMatchObject({
			id,
			generation: 1,
			attempt: 2,
			lacks: false,
		})
		expect(await find(of({ attempt: '1' }), asks())).toMatchObject({ id, generation: 2, attempt: 1, lacks: false })
		expect(await find(of({ run: '1' }), asks())).toMatchObject({ id, generation: 1, attempt: 3, lacks: false })
	})
	it('says which part of it is not there', async () => {
		const none = (status: number, text: string) => ({ resolve: () => Promise.reject(gone(status, text)) })
		expect(await find(of(), asks(none(404, "no task 'x'")))).toEqual({ absent: 'task', text: "no task 'x'" })
		expect(await find(of(), asks(none(400, 'means more than one')))).toEqual({
			absent: 'date',
			text: 'means more than one',
		})
		expect(await find(of(), asks({ instance: () => Promise.reject(gone(404, 'none')) }))).toEqual({
			absent: 'instance',
			text: '',
		})
		expect(await find(of({ run: '1', attempt: '7' }), asks())).toMatchObject({ lacks: true })
		expect(await find(of({ run: '9' }), asks())).toMatchObject({ lacks: true })
	})
	it('takes numbers alone, and leaves other troubles to who shows them', async () => {
		expect(of({ run: 'x', attempt: '-1' })).toMatchObject({ generation: undefined, attempt: undefined })
		await expect(find(of(), asks({ resolve: () => Promise.reject(gone(503, 'away')) }))).rejects.toThrow('away')
	})
})
