/* Open alerts that nobody has: the number in the bar, and what is said aloud where the browser lets us. */
import { computed, ref } from 'vue'
import { alerts, type Alert } from '@/api/ops'
import { fresh, wants } from '@/domain/alerts'
import { session } from './session'

const open = ref<Alert[]>([])
export const waiting = computed(() => open.value.filter(wants).length)

const SEEN = 60_000,
	QUICK = 15_000
let last = 0
let timer: ReturnType<typeof setInterval> | undefined

/* What the browser was told of already; another tab's words count too. */
const KEY = 'sirdar-told'
const told = (): string[] => {
	try {
		return JSON.parse(localStorage.getItem(KEY) ?? '[]') as string[]
	} catch {
		return []
	}
}

export type Voice = 'off' | 'critical' | 'warning'
const kept = (): Voice => {
	try {
		return (localStorage.getItem('sirdar-voice') as Voice | null) ?? 'off'
	} catch {
		return 'off'
	}
}
export const voice = ref<Voice>(kept())
export const voiceWorks = typeof Notification === 'function'

export async function speakUp(v: Voice): Promise<boolean> {
	if (
		v !== 'off' &&
		voiceWorks &&
		Notification.permission !== 'granted' &&
		(await Notification.requestPermission()) !== 'granted'
	)
		return false
	voice.value = v
	try {
		localStorage.setItem('sirdar-voice', v)
	} catch {
		/* for this visit */
	}
	if (v !== 'off') say(open.value, false)
	return true
}

/* What is pushed to this browser (ops/push.ts) comes without us. */
const isPushed = () => {
	try {
		return localStorage.getItem('sirdar-pushed') === 'on'
	} catch {
		return false
	}
}

/* `aloud` false: what is there when one switches it on is no news. */
function say(all: readonly Alert[], aloud: boolean) {
	if (voice.value === 'off' || !voiceWorks || Notification.permission !== 'granted') return
	const { news, said } = fresh(all, told(), voice.value)
	try {
		localStorage.setItem(KEY, JSON.stringify(said))
	} catch {
		return
	}
	if (!aloud || isPushed()) return
	void import('@/words/alerts').then(({ w }) =>
		news
			.slice(0, 4)
			.forEach(a =>
				show(
					`${a.subject}`,
					`${w.of('kind', a.kind)}${a.label ? ' · ' + a.label : ''}${a.reason ? '\n' + a.reason : ''}`,
					a.id,
				),
			),
	)
}

async function show(title: string, body: string, id: string) {
	const o: NotificationOptions = {
		body,
		tag: 'sirdar-' + id,
		icon: '/ui/mark.svg',
		data: { to: '/ui/ops/alerts?a=' + encodeURIComponent(id) },
	}
	const worker = await navigator.serviceWorker?.getRegistration('/ui/').catch(() => undefined)
	if (worker?.active) return worker.showNotification(title, o)
	const n = new Notification(title, o)
	n.onclick = () => {
		window.focus()
		location.assign('/ui/ops/alerts?a=' + encodeURIComponent(id))
	}
}

async function look() {
	if (session.state !== 'in') return
	last = Date.now()
	try {
		const got = await alerts.list({ state: 'open', limit: 100 })
		open.value = got.items
		say(got.items, true)
	} catch {
		/* the page says what is wrong with the server; here the number stays as it was */
	}
}
export function lookAgain() {
	void look()
}

/* A tab that is not looked at asks nothing, unless it is to speak up. */
function beat() {
	const due = document.visibilityState === 'visible' ? QUICK : voice.value === 'off' ? Infinity : SEEN
	if (Date.now() - last >= due) void look()
}
export function watchAlerts() {
	if (timer) return
	timer = setInterval(beat, 5000)
	document.addEventListener('visibilitychange', beat)
	if (isPushed()) void import('@/ops/push').then(p => p.confirm())
	void look()
}
