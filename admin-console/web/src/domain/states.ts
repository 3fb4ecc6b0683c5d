/* The states as they are shown: shape, glyph and word before colour (docs of the design: square =
 * a person, circle = the machine, angular = trouble, hollow = not observed, dashed = no real outcome). */

export type Kind =
	| 'rough'
	| 'ready'
	| 'queued'
	| 'running'
	| 'succ'
	| 'forced'
	| 'retry'
	| 'failed'
	| 'killing'
	| 'killed'
	| 'hanged'
	| 'skipped'
	| 'frozen'
	| 'late'
	| 'risk'

export interface Look {
	shape: string
	line?: string
	fill?: string
	hollow?: boolean
	dashed?: boolean
}

const CIRC = 'M8 1.25a6.75 6.75 0 1 1 0 13.5 6.75 6.75 0 0 1 0-13.5z'
const RSQ =
	'M4.5 1.75h7a2.75 2.75 0 0 1 2.75 2.75v7a2.75 2.75 0 0 1-2.75 2.75h-7a2.75 2.75 0 0 1-2.75-2.75v-7A2.75 2.75 0 0 1 4.5 1.75z'
const OCT = 'M5.2 1.2h5.6l4 4v5.6l-4 4H5.2l-4-4V5.2z'
const HEX = 'M8 .7l6.4 3.65v7.3L8 15.3l-6.4-3.65v-7.3z'
const TRI =
	'M8 1.6c.5 0 .9.25 1.15.7l5.4 9.9c.5.9-.1 1.9-1.1 1.9H2.55c-1 0-1.6-1-1.1-1.9l5.4-9.9C7.1 1.85 7.5 1.6 8 1.6z'
const FULL = 'M3 .5h10A2.5 2.5 0 0 1 15.5 3v10a2.5 2.5 0 0 1-2.5 2.5H3A2.5 2.5 0 0 1 .5 13V3A2.5 2.5 0 0 1 3 .5z'

/* The cell of a grid: the same glyph in a rounded square. */
export const cell = FULL

/* In a box of 16 px. */
export const looks: Record<Kind, Look> = {
	rough: { shape: CIRC, line: 'M4.8 9c1-2 2.2-2 3.2-1s2.2 1 3.2-1', hollow: true, dashed: true },
	ready: { shape: CIRC, hollow: true },
	queued: { shape: CIRC, fill: 'M8 3.5a4.5 4.5 0 0 1 0 9z', hollow: true },
	running: { shape: CIRC, fill: 'M6.4 5v6l4.8-3z' },
	succ: { shape: CIRC, line: 'M5 8.3l2.2 2.2 4-4.6' },
	forced: { shape: RSQ, line: 'M5.5 12.3V4.2h5.3L9.5 6.3l1.3 2.1H5.5', hollow: true },
	retry: { shape: CIRC, line: 'M10.9 6.7A3.3 3.3 0 1 0 11.3 9M11.3 4.3v2.6H8.7' },
	failed: { shape: OCT, line: 'M5.5 5.5l5 5M10.5 5.5l-5 5' },
	killing: { shape: RSQ, fill: 'M6 6h4v4H6z', hollow: true, dashed: true },
	killed: { shape: RSQ, fill: 'M5.5 5.5h5v5h-5z' },
	hanged: { shape: HEX, line: 'M6 6.3a2 2 0 1 1 2.9 1.8c-.6.3-.9.6-.9 1.2M8 11.6v.1' },
	skipped: { shape: CIRC, line: 'M5 9.3a3.2 3.2 0 0 1 5.7-1.5M11.2 5.5v2.6H8.6', hollow: true, dashed: true },
	frozen: { shape: CIRC, line: 'M8 4v8M4.54 6l6.92 4M11.46 6l-6.92 4' },
	late: { shape: TRI, line: 'M8 6v3.2M8 11.6v.1' },
	risk: { shape: TRI, line: 'M8 6v3.2M8 11.6v.1', hollow: true },
}

export const kinds = Object.keys(looks) as Kind[]

const byState: Record<string, Kind> = {
	Rough: 'rough',
	Ready: 'ready',
	DependenceFinish: 'queued',
	Running: 'running',
	Succ: 'succ',
	Failed: 'retry',
	StopSchedule: 'failed',
	WaitKill: 'killing',
	Killing: 'killing',
	Killed: 'killed',
	Hanged: 'hanged',
	Skipped: 'skipped',
}

export const states = Object.keys(byState)
/* What waits, what needs a person, what is over: the words people filter by. */
export const families = {
	trouble: ['Failed', 'StopSchedule', 'Hanged', 'Killed'],
	open: ['Ready', 'DependenceFinish', 'Running', 'Failed', 'WaitKill', 'Killing', 'Hanged'],
	active: ['DependenceFinish', 'Running', 'WaitKill', 'Killing'],
}

export function kindOf(i: { state: string; flags?: string[] }): Kind {
	const kind = byState[i.state] ?? 'ready'
	if (kind === 'succ' && i.flags?.includes('forced')) return 'forced'
	if ((kind === 'ready' || kind === 'queued' || kind === 'retry') && i.flags?.includes('frozen')) return 'frozen'
	return kind
}

/* A sensor between two looks waits until then. */
export const looksAgain = (i: { state?: string; reason?: string | null; retry_at?: string | null }) =>
	i.state === 'Ready' && i.reason === 'not_yet' && i.retry_at ? i.retry_at : null

export const over = (state: string) =>
	state === 'Succ' || state === 'StopSchedule' || state === 'Killed' || state === 'Skipped'

/* One kind for many instances: the worst that needs a person first, then what moves, then what waits. */
const order: Kind[] = [
	'hanged',
	'failed',
	'killing',
	'killed',
	'retry',
	'running',
	'queued',
	'frozen',
	'ready',
	'forced',
	'succ',
	'skipped',
	'rough',
]

export function worst(all: Iterable<Kind>): Kind | undefined {
	const seen = new Set(all)
	return order.find(k => seen.has(k))
}

export function countsKind(states: Record<string, number>, forced = 0): Kind {
	const kinds = Object.entries(states)
		.filter(([, n]) => n > 0)
		.map(([s]) => byState[s] ?? 'ready')
	const kind = worst(kinds) ?? 'ready'
	return kind === 'succ' && forced > 0 ? 'forced' : kind
}
