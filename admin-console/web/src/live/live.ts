/* The stream as pages see it: its state, and who wants to hear of changes. */
import { ref, shallowRef } from 'vue'
import type { CommandNews, FromWorker, Status, ToWorker } from './protocol'
import type { Change } from './reducer'
import { Source } from './source'

export const status = ref<Status>('idle')
export const since = ref(Date.now())
export const paused = shallowRef(false)

type Listener = { changes?: (c: Change[]) => void; commands?: (c: CommandNews[]) => void; reset?: () => void }

const listeners = new Set<Listener>()
let seen = '0'
let post: (m: ToWorker) => void = () => {}
let started = false

function hear(m: FromWorker) {
	if (m.say === 'status') {
		status.value = m.status
		since.value = m.since
		return
	}
	if (m.say === 'commands') {
		for (const l of [...listeners]) l.commands?.(m.commands)
		return
	}
	seen = m.number
	for (const l of [...listeners]) {
		if (m.say === 'changes') l.changes?.(m.changes)
		else l.reset?.()
	}
}

/* Returns how to leave. */
export function listen(l: Listener): () => void {
	listeners.add(l)
	return () => {
		listeners.delete(l)
	}
}

function connect() {
	if (typeof SharedWorker === 'function') {
		try {
			const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'sirdar-live' })
			worker.port.onmessage = (e: MessageEvent<FromWorker>) => hear(e.data)
			worker.port.start()
			post = m => worker.port.postMessage(m)
			return
		} catch {
			/* a browser that forbids it: the tab has a stream of its own */
		}
	}
	const source = new Source(hear)
	post = m => {
		if (m.say === 'stop') source.stop()
		else source.want(m.say !== 'bye' && m.visible)
	}
}

const visible = () => document.visibilityState === 'visible'

export function start() {
	if (!started) {
		started = true
		connect()
		document.addEventListener('visibilitychange', () => post({ say: 'visible', visible: visible(), seen }))
		addEventListener('pagehide', () => post({ say: 'bye' }))
		addEventListener('pageshow', e => {
			if (e.persisted) post({ say: 'hello', visible: visible() })
		})
	}
	post({ say: 'hello', visible: visible() })
}

export function stop() {
	if (started) post({ say: 'stop' })
}
