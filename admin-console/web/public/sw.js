/* The shell without a network: pages' hashed files and the one page, never what the API says.
 *
 * assets/* carry their hash in the name: once here, here for good, until a newer manifest leaves them out. The page itself is asked of the
 * server first, so that an upgrade is seen at once; what was kept is only for when there is no answer. Notifications that the page
 * asks for are shown by this worker too, since phones know no other way; so are those that the notifier pushes (notifier/push.h says
 * what is in one), under the same tags, so that an alert stands there once. */
'use strict'
const CACHE = 'sirdar-shell'
const FIRST = [
	'index.html',
	'src/i18n/en.ts',
	'src/i18n/zh.ts',
	'src/pages/Home.vue',
	'src/pages/Instances.vue',
	'src/pages/Run.vue',
	'src/pages/Alerts.vue',
]

async function manifest() {
	const answer = await fetch('/ui/manifest.json', { cache: 'no-store' })
	return answer.ok ? answer.json() : null
}
function files(made, names) {
	const seen = new Set(),
		out = new Set()
	const walk = name => {
		const m = made[name]
		if (!m || seen.has(name)) return
		seen.add(name)
		out.add('/ui/' + m.file)
		for (const f of [...(m.css || []), ...(m.assets || [])]) out.add('/ui/' + f)
		for (const i of m.imports || []) walk(i)
	}
	names.forEach(walk)
	return out
}
/* Takes in what the first pages need, drops what no page of this version names. */
async function renew() {
	const made = await manifest()
	if (!made) return
	const cache = await caches.open(CACHE),
		all = files(made, Object.keys(made))
	for (const m of Object.values(made)) all.add('/ui/' + m.file)
	for (const r of await cache.keys()) {
		const p = new URL(r.url).pathname
		if (p.startsWith('/ui/assets/') && !all.has(p) && !/worker/.test(p)) await cache.delete(r)
	}
	for (const url of ['/ui/', '/ui/first.js', '/ui/mark.svg', ...files(made, FIRST)]) {
		if (url.startsWith('/ui/assets/') && (await cache.match(url))) continue
		const answer = await fetch(url, { cache: 'no-cache' })
		if (answer.ok) await cache.put(url, answer)
	}
}

self.addEventListener('install', e => {
	e.waitUntil(
		renew()
			.catch(() => {})
			.then(() => self.skipWaiting()),
	)
})
self.addEventListener('activate', e => {
	e.waitUntil(self.clients.claim())
})
self.addEventListener('message', e => {
	if (e.data === 'renew') e.waitUntil(renew().catch(() => {}))
})

self.addEventListener('fetch', e => {
	const url = new URL(e.request.url)
	if (e.request.method !== 'GET' || url.origin !== location.origin || !url.pathname.startsWith('/ui/')) return
	if (url.pathname.startsWith('/ui/assets/')) e.respondWith(asset(e.request))
	else if (e.request.mode === 'navigate') e.respondWith(page(e.request))
	else if (url.pathname === '/ui/first.js' || url.pathname === '/ui/mark.svg')
		e.respondWith(fetch(e.request).catch(() => caches.match(url.pathname)))
})
async function asset(request) {
	const cache = await caches.open(CACHE),
		kept = await cache.match(request.url)
	if (kept) return kept
	const answer = await fetch(request)
	if (answer.ok) await cache.put(request.url, answer.clone())
	return answer
}
async function page(request) {
	try {
		return await fetch(request)
	} catch (e) {
		const kept = await caches.match('/ui/')
		if (kept) return kept
		throw e
	}
}

/* A browser that is woken must show something, whatever came. Only paths of our own are opened. */
self.addEventListener('push', e => {
	let m = {}
	try {
		m = (e.data && e.data.json()) || {}
	} catch {
		/* not ours: a title is all there is */
	}
	const path = typeof m.path === 'string' && m.path.startsWith('/ui/') ? m.path : '/ui/ops/alerts'
	e.waitUntil(
		self.registration.showNotification(String(m.title || 'Sirdar'), {
			body: String(m.body || ''),
			tag: String(m.tag || 'sirdar'),
			lang: m.lang === 'zh' ? 'zh' : 'en',
			icon: '/ui/mark.svg',
			data: { to: path },
		}),
	)
})

/* The browser changed its address: told to the server, as who is signed in here. */
async function again(old, made) {
	const key = old && old.options && old.options.applicationServerKey
	const s =
		made ||
		(key && (await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })))
	const session = await fetch('/api/v1/session', { cache: 'no-store' })
	if (!s || !session.ok) return
	const { csrf } = await session.json(),
		{ endpoint, keys } = s.toJSON(),
		was = old && (await device(old.endpoint))
	const { label, least, language } = was || {}
	await fetch('/api/v1/push', {
		method: 'POST',
		headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': csrf || '' },
		body: JSON.stringify({ endpoint, p256dh: keys.p256dh, auth: keys.auth, label, least, language }),
	})
}
/* What the server knows of it: named by the first half of the endpoint's SHA-256. */
async function device(endpoint) {
	const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint))).slice(0, 16)
	const name = [...hash].map(b => b.toString(16).padStart(2, '0')).join('')
	const answer = await fetch('/api/v1/push', { cache: 'no-store' })
	return answer.ok ? (await answer.json()).devices.find(d => d.device === name) : null
}
self.addEventListener('pushsubscriptionchange', e => {
	e.waitUntil(again(e.oldSubscription, e.newSubscription).catch(() => {}))
})

self.addEventListener('notificationclick', e => {
	e.notification.close()
	const to = (e.notification.data && e.notification.data.to) || '/ui/ops/alerts'
	e.waitUntil(
		(async () => {
			for (const c of await self.clients.matchAll({ type: 'window', includeUncontrolled: true })) {
				if (!new URL(c.url).pathname.startsWith('/ui/')) continue
				await c.focus()
				return c.navigate(to)
			}
			return self.clients.openWindow(to)
		})(),
	)
})
