/* The layout of a large graph beside the page, in a worker; of a small one at once, since asking takes longer than it. */
import { layOut, type Layout, type Size } from './layout'
import type { Model } from './model'

export interface Asked {
	number: number
	nodes: number
	from: Int32Array
	to: Int32Array
	size: Size
}
export interface Answered {
	number: number
	layout: Layout
}

let worker: Worker | null | undefined
let last = 0
const waiting = new Map<number, { m: Model; size: Size; done: (l: Layout) => void }>()

/* Whoever waits is served here, as without a worker. */
function gone() {
	worker?.terminate()
	worker = null
	for (const w of waiting.values()) w.done(layOut(w.m, w.size))
	waiting.clear()
}

function theWorker(): Worker | null {
	if (worker !== undefined) return worker
	if (typeof Worker !== 'function') return (worker = null)
	try {
		worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'sirdar-layout' })
		worker.onmessage = (e: MessageEvent<Answered>) => {
			waiting.get(e.data.number)?.done(e.data.layout)
			waiting.delete(e.data.number)
		}
		worker.onerror = e => {
			e.preventDefault()
			gone()
		}
	} catch {
		worker = null /* a browser that forbids it */
	}
	return worker
}

export function layOutAway(m: Model, size: Size): Promise<Layout> {
	const to = theWorker()
	if (!to) return Promise.resolve(layOut(m, size))
	return new Promise(done => {
		const number = ++last,
			ask: Asked = {
				number,
				nodes: m.nodes.length,
				from: Int32Array.from(m.edges, e => e.from),
				to: Int32Array.from(m.edges, e => e.to),
				size,
			}
		waiting.set(number, { m, size, done })
		to.postMessage(ask, [ask.from.buffer, ask.to.buffer])
	})
}
