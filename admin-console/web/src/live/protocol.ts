/* What tabs and the worker that holds the one stream say to each other. */
import type { Change } from './reducer'

export type Status = 'idle' | 'connecting' | 'live' | 'lost' | 'down' | 'out'

/* How far a command is; it has no number and is not told again. */
export interface CommandNews {
	id: string
	state: string
	done: number
	failed: number
	total: number
}

export type ToWorker =
	| { say: 'hello'; visible: boolean }
	| { say: 'visible'; visible: boolean; seen: string }
	| { say: 'stop' }
	| { say: 'bye' }

export type FromWorker =
	| { say: 'status'; status: Status; since: number }
	| { say: 'changes'; changes: Change[]; number: string }
	| { say: 'commands'; commands: CommandNews[] }
	| { say: 'reset'; number: string }
