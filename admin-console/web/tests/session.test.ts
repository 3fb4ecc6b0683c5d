/* A session's end, from every side: who is asked to sign in, and that a late refusal of the old session ends no new one. The
 * server is the test's own. */
import { beforeEach, describe, expect, it, vi } from 'vitest'

vi.mock('@/live/live', () => ({ start: () => {}, stop: () => {} }))
const { api } = await import('@/api/client')
const { begin, login, logout, session } = await import('@/stores/session')

const answer = (status: number, body: object) => new Response(JSON.stringify(body), { status })
const signedIn = (csrf: string) => answer(200, { user: 'ann', role: 'viewer', csrf })
const who = () => answer(401, { error: { code: 'AUTH', message: 'who are you?' } })

/* Each question waits until the test answers it. */
let open: ((a: Response) => void)[] = []
let asked: RequestInit[] = []
vi.stubGlobal('fetch', (_: string, how: RequestInit = {}) => {
	asked.push(how)
	return new Promise<Response>((done, fail) => {
		open.push(done)
		how.signal?.addEventListener('abort', () => fail(new DOMException('late', 'AbortError')))
	})
})

async function signIn(csrf: string) {
	const done = login('ann', 'a long enough word')
	open.pop()!(signedIn(csrf))
	await done
}

async function refuse(n: number) {
	const all = Array.from({ length: n }, () => api.users().catch(() => {}))
	for (const done of open.splice(0)) done(who())
	await Promise.all(all)
}

beforeEach(async () => {
	open = []
	asked = []
	await signIn('one')
})

describe('a second factor', () => {
	it('that has to be set up first is all there is', async () => {
		const done = login('ann', 'a long enough word', '123456')
		expect(JSON.parse(String(asked.at(-1)?.body))).toMatchObject({ code: '123456' })
		open.pop()!(answer(200, { user: 'ann', role: 'viewer', csrf: 'two', must_enrol: true }))
		await done
		expect(session).toMatchObject({ state: 'in', enrol: true })
		await signIn('three')
		expect(session).toMatchObject({ state: 'in', enrol: false })
	})
	it('or a password that is refused ends no session', async () => {
		const all = [api.password('old', 'fresh').catch(e => e.status)]
		open.pop()!(answer(401, { error: { code: 'AUTH', message: 'wrong user or password' } }))
		expect(await Promise.all(all)).toEqual([401])
		expect(session.state).toBe('in')
	})
})

describe('a session that ended', () => {
	it.each([1, 2, 5])('is asked for over the page when %i requests are refused at once', async n => {
		await refuse(n)
		expect(session).toMatchObject({ state: 'out', expired: true })
	})
	it('stays asked for when one more is refused later, health too', async () => {
		await refuse(1)
		await refuse(1)
		const health = api.health().catch(() => {})
		open.pop()!(who())
		await health
		expect(session).toMatchObject({ state: 'out', expired: true })
	})
	it('is not what the next one is measured by: a late refusal of the old one is no end of it', async () => {
		const late = [api.users().catch(() => {}), api.health().catch(() => {})]
		const answers = open.splice(0)
		await refuse(1)
		await signIn('two')
		for (const done of answers) done(who())
		await Promise.all(late)
		expect(session).toMatchObject({ state: 'in', expired: false })
	})
	it('is ended at the server by signing out: without a body, which is not taken', async () => {
		const out = logout()
		expect(asked.pop()).toMatchObject({ method: 'POST', body: undefined, headers: { 'X-CSRF-Token': 'one' } })
		open.pop()!(answer(200, {}))
		await out
	})
	it('is the plain form after one signs out, and when there was none', async () => {
		const out = logout()
		open.pop()!(answer(200, {}))
		await out
		expect(session).toMatchObject({ state: 'out', expired: false })
		const begun = begin()
		open.pop()!(who())
		await begun
		expect(session).toMatchObject({ state: 'out', expired: false })
	})
})

describe('a page that is opened while the server', () => {
	it.each([
		['does not answer', () => vi.advanceTimersByTimeAsync(10_000)],
		['is not there', async () => open.shift()!(answer(503, { error: { code: 'AGAIN', message: 'not now' } }))],
	])('%s asks again until it does', async (_, goesWrong) => {
		vi.useFakeTimers()
		open = []
		const first = begin()
		await goesWrong()
		await first
		expect(session.state).toBe('unreachable')
		open = []
		await vi.advanceTimersByTimeAsync(3000)
		expect(open).toHaveLength(1)
		open.pop()!(signedIn('three'))
		await vi.waitFor(() => expect(session.state).toBe('in'))
		await vi.advanceTimersByTimeAsync(60_000)
		expect(open).toHaveLength(0)
		vi.useRealTimers()
	})
})
