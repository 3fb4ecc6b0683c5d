/* Pushes: what the worker shows of them, where a click leads, and what a browser is told when it cannot have any. */
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'

vi.mock('@/stores/prefs', () => ({ prefs: { lang: 'en' } }))
vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} })
const { label, look, nameOf, switchOn } = await import('@/ops/push')

type Handler = (e: unknown) => void

/* The worker's own text, in a world of its own. */
function worker(fetched: Record<string, unknown> = {}) {
	const on: Record<string, Handler> = {}
	const shown: { title: string; o: { body: string; tag: string; lang: string; data: { to: string } } }[] = []
	const asked: { url: string; o?: RequestInit }[] = []
	const made = {
		endpoint: 'https://push.example.net/new',
		toJSON: () => ({ endpoint: 'https://push.example.net/new', keys: { p256dh: 'P', auth: 'A' } }),
	}
	const self = {
		addEventListener: (name: string, f: Handler) => (on[name] = f),
		registration: {
			showNotification: async (title: string, o: never) => void shown.push({ title, o }),
			pushManager: { subscribe: async () => made },
		},
	}
	const fetch = async (url: string, o?: RequestInit) => {
		asked.push({ url, o })
		return { ok: true, json: async () => fetched[url] }
	}
	const world = { self, fetch, crypto, TextEncoder, Uint8Array, URL, caches: {} }
	runInNewContext(readFileSync('public/sw.js', 'utf8'), world)
	const send = async (name: string, event: object) => {
		let all: Promise<unknown> = Promise.resolve()
		on[name]!({ ...event, waitUntil: (p: Promise<unknown>) => (all = p) })
		await all
	}
	return { send, shown, asked }
}
const message = (text: string) => ({ data: { json: () => JSON.parse(text) as unknown } })

describe('the worker', () => {
	it('shows what is pushed under the tag that the page uses, in its language', async () => {
		const w = worker()
		await w.send(
			'push',
			message('{"title":"al/one/t 失败","body":"原因","path":"/ui/ops/alerts?a=7","tag":"sirdar-7","lang":"zh"}'),
		)
		expect(w.shown).toHaveLength(1)
		expect(w.shown[0]).toMatchObject({
			title: 'al/one/t 失败',
			o: { body: '原因', tag: 'sirdar-7', lang: 'zh', data: { to: '/ui/ops/alerts?a=7' } },
		})
	})
	it('shows something for whatever comes, and opens no page but ours', async () => {
		const w = worker()
		await w.send('push', message('{"title":"x","path":"https://evil.example/"}'))
		await w.send('push', { data: { json: () => JSON.parse('not json') as unknown } })
		await w.send('push', { data: null })
		expect(w.shown.map(s => [s.title, s.o.data.to])).toEqual([
			['x', '/ui/ops/alerts'],
			['Sirdar', '/ui/ops/alerts'],
			['Sirdar', '/ui/ops/alerts'],
		])
	})
	it('tells the server of a new address, with what was chosen for the former', async () => {
		const old = { endpoint: 'https://push.example.net/old', options: { applicationServerKey: new ArrayBuffer(65) } }
		const w = worker({
			'/api/v1/session': { csrf: 'c' },
			'/api/v1/push': {
				devices: [{ device: await nameOf(old.endpoint), label: 'Mine', least: 'critical', language: 'zh' }],
			},
		})
		await w.send('pushsubscriptionchange', { oldSubscription: old, newSubscription: null })
		const last = w.asked.at(-1)!
		expect(last.url).toBe('/api/v1/push')
		expect(last.o?.headers).toMatchObject({ 'X-CSRF-Token': 'c' })
		expect(JSON.parse(String(last.o?.body))).toEqual({
			endpoint: 'https://push.example.net/new',
			p256dh: 'P',
			auth: 'A',
			label: 'Mine',
			least: 'critical',
			language: 'zh',
		})
	})
})

describe('this browser', () => {
	/* What a browser says of itself: `subscription` is what it has. It reaches no push service. */
	function browser(o: { permission?: string; active?: boolean; subscription?: object | null }) {
		vi.stubGlobal('window', globalThis)
		vi.stubGlobal('isSecureContext', true)
		vi.stubGlobal('PushManager', function () {})
		vi.stubGlobal(
			'Notification',
			Object.assign(function () {}, {
				permission: o.permission ?? 'granted',
				requestPermission: async () => o.permission ?? 'granted',
			}),
		)
		const pushManager = {
			getSubscription: async () => o.subscription ?? null,
			subscribe: async () => {
				throw new Error('push service not available')
			},
		}
		vi.stubGlobal('navigator', {
			userAgent: 'x',
			serviceWorker: { getRegistration: async () => (o.active === false ? undefined : { active: {}, pushManager }) },
		})
	}
	const device = (name: string) => ({
		device: name,
		person: 'ann',
		label: '',
		service: '',
		least: 'warning' as const,
		language: 'en' as const,
		since: '',
	})

	it('says why it cannot have any', async () => {
		browser({ permission: 'denied' })
		expect((await look([])).state).toBe('blocked')
		browser({ active: false })
		expect((await look([])).state).toBe('worker')
		browser({})
		vi.stubGlobal('isSecureContext', false)
		expect((await look([])).state).toBe('insecure')
	})
	it('is on when the server knows its address, and only then', async () => {
		const subscription = { endpoint: 'https://push.example.net/x' },
			name = await nameOf(subscription.endpoint)
		browser({ subscription })
		expect(await look([device('other')])).toEqual({ state: 'off', device: '' })
		expect(await look([device('other'), device(name)])).toEqual({ state: 'on', device: name })
	})
	it('says that its maker’s service is away, or that nothing is pushed here', async () => {
		const answer = (key: string | null) =>
			vi.stubGlobal('fetch', async () => new Response(JSON.stringify({ key, devices: [] }), { status: 200 }))
		browser({})
		answer('BP4z')
		expect(await switchOn('warning')).toBe('service')
		answer(null)
		expect(await switchOn('warning')).toBe('unset')
		browser({ permission: 'denied' })
		expect(await switchOn('warning')).toBe('denied')
	})
	it('has a name short enough for a list', () => {
		expect(label('Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/125.0 Mobile Safari/537.36')).toBe(
			'Chrome, Android',
		)
		expect(label('Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) Version/17.5 Safari/605.1.15')).toBe('Safari, macOS')
		expect(label('Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0')).toBe('Firefox, Linux')
		expect(label('something')).toBe('Browser')
	})
})
