/* Alerts pushed to this browser, also when it is closed: what the browser allows, what the server knows. */
import { ApiError, type Schemas } from '@/api/client'
import { pushes } from '@/api/ops'
import { prefs } from '@/stores/prefs'

export type Device = Schemas['Devices']['devices'][number]
export type Least = Device['least']
/* Why not, or whether. */
export type PushState = 'insecure' | 'none' | 'blocked' | 'worker' | 'off' | 'on'

const FLAG = 'sirdar-pushed'
/* stores/alerts.ts looks: what is pushed is not said by the page as well. */
function remember(on: boolean) {
	try {
		if (on) localStorage.setItem(FLAG, 'on')
		else localStorage.removeItem(FLAG)
	} catch {
		/* then both speak, and the tag makes one of them */
	}
}

const registration = () => navigator.serviceWorker.getRegistration('/ui/')

/* As the server names it: the first half of the endpoint's SHA-256. */
export async function nameOf(endpoint: string): Promise<string> {
	const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint)))
	return [...hash.slice(0, 16)].map(b => b.toString(16).padStart(2, '0')).join('')
}

export interface Here {
	state: PushState
	device: string
}

export async function look(devices: readonly Device[]): Promise<Here> {
	const here = await allowed()
	if (here) return { state: here, device: '' }
	const found = await (await registration())?.pushManager.getSubscription()
	const device = found ? await nameOf(found.endpoint) : ''
	const on = devices.some(d => d.device === device)
	remember(on)
	return { state: on ? 'on' : 'off', device: on ? device : '' }
}

async function allowed(): Promise<PushState | null> {
	if (!window.isSecureContext) return 'insecure'
	if (!('serviceWorker' in navigator) || !('PushManager' in window) || typeof Notification !== 'function') return 'none'
	if (Notification.permission === 'denied') return 'blocked'
	return (await registration())?.active ? null : 'worker'
}

const bytes = (text: string) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0))

/* What a browser calls itself, short enough for a list. */
export function label(agent: string): string {
	const name = /Edg\//.test(agent)
		? 'Edge'
		: /OPR\//.test(agent)
			? 'Opera'
			: /Firefox\//.test(agent)
				? 'Firefox'
				: /Chrom(e|ium)\//.test(agent)
					? 'Chrome'
					: /Safari\//.test(agent)
						? 'Safari'
						: 'Browser'
	const on = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'CrOS', 'Linux'].find(x => agent.includes(x)) ?? ''
	return on ? `${name}, ${on.replace('Mac OS X', 'macOS').replace('CrOS', 'ChromeOS')}` : name
}

async function tell(s: PushSubscription, least: Least) {
	const keys = s.toJSON().keys ?? {}
	await pushes.add({
		endpoint: s.endpoint,
		p256dh: keys.p256dh ?? '',
		auth: keys.auth ?? '',
		label: label(navigator.userAgent),
		least,
		language: prefs.lang === 'zh' ? 'zh' : 'en',
	})
}

export type Trouble = 'denied' | 'unset' | 'service'
/* null: it is on. A word of words/push.ts, or what the server said. */
export async function switchOn(least: Least): Promise<Trouble | ApiError | null> {
	if ((await Notification.requestPermission()) !== 'granted') return 'denied'
	let made: PushSubscription | undefined
	try {
		const { key } = await pushes.key()
		if (!key) return 'unset'
		const manager = (await registration())!.pushManager
		await (await manager.getSubscription())?.unsubscribe() // of a former key, perhaps
		made = await manager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) })
		await tell(made, least)
		return null
	} catch (e) {
		await made?.unsubscribe().catch(() => false)
		return e instanceof ApiError ? e : 'service'
	}
}

export async function change(least: Least) {
	const s = await (await registration())?.pushManager.getSubscription()
	if (s) await tell(s, least)
}

/* Of this browser: it lets go too. */
export async function forget(device: string, here: string) {
	await pushes.drop(device)
	if (device !== here) return
	remember(false)
	await (await (await registration())?.pushManager.getSubscription())?.unsubscribe()
}

/* Once a visit, where it was on: somebody may have forgotten this browser meanwhile. */
export async function confirm() {
	try {
		await look((await pushes.list()).devices)
	} catch {
		/* no server: as it was */
	}
}
