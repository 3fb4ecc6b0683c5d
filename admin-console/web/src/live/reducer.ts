/* What the stream says, folded into what is shown. Pure: the worker, the stores and the tests use it. */

export interface Change {
	number: string
	at: string
	id: string
	task?: string | null
	task_id: number
	run_date: string
	label?: string
	part: number
	event: string
	from: string | null
	to: string | null
	reason?: string
	generation: number
	attempt: number
	broker?: string | null
	broker_id?: number
	note?: string | null
}

/* Of one instance only the last change counts for what is shown, from the state that was told last: who waits for the end of a
 * failure hears of it also when its redo has ended meanwhile. Order and numbers are kept. */
export class Batch {
	private byId = new Map<string, Change>()
	last = 0n
	dropped = 0

	/* False: an event that was there already. */
	add(c: Change): boolean {
		const number = BigInt(c.number)
		if (number <= this.last) {
			this.dropped++
			return false
		}
		this.last = number
		const was = this.byId.get(c.id)
		this.byId.delete(c.id)
		this.byId.set(c.id, was ? { ...c, from: was.from } : c)
		return true
	}

	get size() {
		return this.byId.size
	}

	take(): Change[] {
		const all = [...this.byId.values()]
		this.byId.clear()
		return all
	}
}

interface Row {
	id: string
	state: string
	attempt?: number
	broker?: string | null
	generation?: number
	last_number?: string
	started?: string | null
	ended?: string | null
	flags?: string[]
}

const ends = new Set(['Succ', 'StopSchedule', 'Killed', 'Skipped', 'Failed'])

/* The same array when nothing in it changed; else a new one with new rows where they changed. */
export function patch<T extends Row>(rows: readonly T[], changes: Iterable<Change>): readonly T[] {
	const byId = new Map<string, Change>()
	for (const c of changes) byId.set(c.id, c)
	let out: T[] | undefined
	rows.forEach((row, at) => {
		const c = byId.get(row.id)
		if (!c || !c.to || (row.last_number && BigInt(c.number) <= BigInt(row.last_number))) return
		out ??= rows.slice()
		out[at] = {
			...row,
			state: c.to,
			attempt: c.attempt,
			generation: c.generation,
			last_number: c.number,
			broker: c.broker ?? row.broker,
			started: c.to === 'Running' ? c.at : row.started,
			ended: ends.has(c.to) ? c.at : c.to === 'Running' ? null : row.ended,
		}
	})
	return out ?? rows
}
