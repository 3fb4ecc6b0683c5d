/* A long text is read beside the page, which answers keys meanwhile; a short one at once. */
import { pieceOf, type Piece } from './piece'

export const LONG = 40_000

/* The worker lives for one text: there is seldom a second. Where there is none, or it fails, the page reads it. */
export function readPiece(source: string): Promise<Piece> {
	if (source.length <= LONG || typeof Worker !== 'function') return Promise.resolve(pieceOf(source))
	return new Promise(done => {
		let worker: Worker
		try {
			worker = new Worker(new URL('./piece.worker.ts', import.meta.url), { type: 'module', name: 'sirdar-piece' })
		} catch {
			done(pieceOf(source)) /* a browser that forbids it */
			return
		}
		worker.onmessage = (e: MessageEvent<Piece>) => {
			worker.terminate()
			done(e.data)
		}
		worker.onerror = e => {
			e.preventDefault()
			worker.terminate()
			done(pieceOf(source))
		}
		worker.postMessage(source)
	})
}
