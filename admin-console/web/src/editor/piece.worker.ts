/* The worker of away.ts: a text in, what it brings along out. */
import { pieceOf } from './piece'

self.onmessage = (e: MessageEvent<string>) => self.postMessage(pieceOf(e.data))
