/* The worker of away.ts: numbers for names, the same layout. */
import type { Asked } from './away'
import { answer } from './answer'

self.onmessage = (e: MessageEvent<Asked>) => {
	const a = answer(e.data),
		l = a.layout
	;(self as unknown as { postMessage: (m: unknown, t: Transferable[]) => void }).postMessage(a, [
		l.x.buffer,
		l.y.buffer,
		l.layer.buffer,
	])
}
