/* This device: the shell kept for when there is no network, an upgrade noticed, installed as an app. */
import { ref, shallowRef } from 'vue'

interface InstallEvent extends Event {
	prompt: () => Promise<unknown>
}

export const newer = ref(false)
export const installable = shallowRef<InstallEvent | null>(null)
export const installed = matchMedia('(display-mode: standalone)').matches

addEventListener('beforeinstallprompt', e => {
	e.preventDefault()
	installable.value = e as InstallEvent
})
addEventListener('appinstalled', () => {
	installable.value = null
})

/* The script that this page came with, as the server's page names it now. */
const mine = () =>
	document.querySelector<HTMLScriptElement>('script[type=module][src*="/assets/"]')?.getAttribute('src') ?? ''
export const scriptOf = (html: string) => /<script[^>]+type="module"[^>]+src="([^"]+)"/.exec(html)?.[1] ?? ''

const EVERY = 10 * 60_000
let last = Date.now()
export async function lookForNewer() {
	last = Date.now()
	try {
		const answer = await fetch('/ui/', { cache: 'no-store', headers: { Accept: 'text/html' } })
		const now = answer.ok ? scriptOf(await answer.text()) : ''
		if (now && mine() && now !== mine()) {
			newer.value = true
			;(await navigator.serviceWorker?.getRegistration('/ui/'))?.active?.postMessage('renew')
		}
	} catch {
		/* no network: later */
	}
}

/* A browser that a program drives measures the network itself: there only when it is asked for. */
const wanted = () => !navigator.webdriver || localStorage.getItem('sirdar-worker') === 'on'

export function beginDevice() {
	document.addEventListener('visibilitychange', () => {
		if (document.visibilityState === 'visible' && Date.now() - last > EVERY) void lookForNewer()
	})
	setInterval(() => {
		if (document.visibilityState === 'visible' && Date.now() - last > EVERY) void lookForNewer()
	}, 60_000)
	if (import.meta.env.PROD && 'serviceWorker' in navigator && wanted())
		void navigator.serviceWorker.register('/ui/sw.js', { scope: '/ui/', updateViaCache: 'none' }).catch(() => {
			/* forbidden here: no offline start */
		})
}
