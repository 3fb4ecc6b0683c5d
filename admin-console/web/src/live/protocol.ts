/* What tabs and the worker that holds the one stream say to each other. */
import type { Change } from './reducer'

export type Status = 'idle' | 'connecting' | 'live' | 'lost' | 'down' | 'out'

export type ToWorker =
	| { say: 'hello'; visible: boolean }
	| { say: 'visible'; visible: boolean; seen: string }
	| { say: 'stop' }
	| { say: 'bye' }

export type FromWorker =
	| { say: 'status'; status: Status; since: number }
	| { say: 'changes'; changes: Change[]; number: string }
	| { say: 'reset'; number: string }
