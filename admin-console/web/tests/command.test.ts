/* How a command is followed: asked for once, then told by the stream. The stream and the answers are the test's own, each
 * question waits until the test answers it. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { nextTick, ref } from 'vue'
import type { CommandNews } from '@/live/protocol'

type Listener = { commands: (c: CommandNews[]) => void; reset: () => void }
const status = ref('live')
let stream!: Listener
vi.mock('@/live/live', () => ({
	status,
	listen: (l: Listener) => {
		stream = l
		return () => {}
	},
}))
const { follow, over } = await import('@/stores/command')

const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
vi.stubGlobal('document', page)
/* Each question waits until the test answers it. */
let open: ((a: Response) => void)[] = []
vi.stubGlobal('fetch', () => new Promise<Response>(done => open.push(done)))
const json = (code: number, body: object) => new Response(JSON.stringify(body), { status: code })
const settle = () => new Promise(go => setTimeout(go))
async function answer(state: string, done = 0) {
	await settle()
	open.shift()!(json(200, { command: '7', kind: 'backfill', state, done, failed: 0, total: 9 }))
	await settle()
}
const news = (state: string, done = 0, id = '7'): CommandNews => ({ id, state, done, failed: 0, total: 9 })
async function look(visible: boolean) {
	page.visibilityState = visible ? 'visible' : 'hidden'
	page.dispatchEvent(new Event('visibilitychange'))
	await settle()
}

beforeEach(async () => {
	status.value = 'live'
	await look(true)
	open = []
})

describe('a command that is followed', () => {
	it('is asked for once; then the stream tells, and its end is read', async () => {
		const seen: number[] = []
		follow('7', c => seen.push(c.done ?? 0))
		const end = over('7')
		await answer('running', 1)
		stream.commands([news('running', 4), news('running', 5, '8')])
		expect(open).toHaveLength(0)
		stream.commands([news('done', 9)])
		await answer('done', 9)
		expect((await end).state).toBe('done')
		expect(seen).toEqual([1, 4, 9])
		stream.commands([news('done', 9)])
		stream.reset()
		expect(open).toHaveLength(0)
	})
	it('is asked for once more when the stream begins anew or lost some', async () => {
		const end = over('7')
		await answer('running')
		status.value = 'lost'
		await nextTick()
		expect(open).toHaveLength(0)
		status.value = 'live'
		await nextTick()
		expect(open).toHaveLength(1)
		await answer('running')
		stream.reset()
		stream.reset()
		expect(open).toHaveLength(1)
		await answer('running') /* before the second reset: asked again */
		await answer('failed')
		expect((await end).state).toBe('failed')
	})
	it('that ends while it is asked for is asked for again', async () => {
		const end = over('7')
		stream.commands([news('done', 9)])
		await answer('running')
		await answer('done', 9)
		expect((await end).state).toBe('done')
	})
	it('is not asked for by a hidden tab, but when it is seen again', async () => {
		const end = over('7')
		await answer('running')
		await look(false)
		stream.commands([news('done', 9)])
		stream.reset()
		expect(open).toHaveLength(0)
		await look(true)
		await answer('done', 9)
		expect((await end).state).toBe('done')
	})
	it('is asked for now and then where no stream comes through', async () => {
		status.value = 'lost'
		const end = over('7')
		await settle()
		vi.useFakeTimers()
		open.shift()!(json(200, { command: '7', kind: 'backfill', state: 'running', done: 1, failed: 0, total: 9 }))
		await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1))
		await vi.advanceTimersByTimeAsync(3900)
		expect(open).toHaveLength(0)
		await vi.advanceTimersByTimeAsync(100)
		vi.useRealTimers()
		await answer('done', 9)
		expect((await end).state).toBe('done')
	})
	it('that is not to be had is a refusal', async () => {
		const end = over('7')
		await settle()
		open.shift()!(json(404, { error: { code: 'NOT_FOUND', message: 'no such command' } }))
		await expect(end).rejects.toMatchObject({ status: 404 })
		expect(open).toHaveLength(0)
	})
})
