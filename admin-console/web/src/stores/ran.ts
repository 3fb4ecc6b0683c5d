/* What began and ended since a moment: asked for once, then kept by the stream. */
import { api, type Instance } from '@/api/client'
import type { Ran } from '@/domain/day'
import type { Change } from '@/live/reducer'
import { useResource } from './resource'

const over = ['Succ', 'StopSchedule', 'Killed']
const MOST = 4000 /* rows: of a busier day its last ones */

export interface Rans {
	rows: Map<string, Ran>
	/* What ended before is not counted; null: all of it is. */
	cut: number | null
}

const ms = (s: string | null | undefined) => (s ? Date.parse(s) : null)
const ranOf = (i: Instance): Ran => ({
	id: i.id,
	task: i.task ?? '',
	began: ms(i.started),
	ended: over.includes(i.state) ? ms(i.ended) : null,
	good: i.state === 'Succ',
})

async function load(from: number, s: AbortSignal): Promise<Rans> {
	const rows = new Map<string, Ran>()
	let cursor: string | undefined,
		cut: number | null = null
	const running = await api.instances({ states: 'Running', limit: 500 }, s)
	for (const i of running.items) rows.set(i.id, ranOf(i))
	for (;;) {
		const page = await api.instances({ states: over.join(','), sort: 'end', order: 'desc', limit: 500, cursor }, s)
		for (const i of page.items) rows.set(i.id, ranOf(i))
		const last = ms(page.items.at(-1)?.ended)
		cursor = page.cursor ?? undefined
		if (!cursor || last === null || last < from) break
		if (rows.size >= MOST) {
			cut = last
			break
		}
	}
	return { rows, cut }
}

/* A date that is run again stands there once, as it ended last. */
export function learn(data: Rans, changes: readonly Change[]): Rans {
	let any = false
	for (const c of changes) {
		const ended = over.includes(c.to ?? '')
		if (c.part !== 0 || c.from === c.to || !(ended || c.to === 'Running')) continue
		const was = data.rows.get(c.id)
		data.rows.set(c.id, {
			id: c.id,
			task: c.task ?? was?.task ?? '',
			/* Both came in one batch: it began about when it ended. */
			began: ended ? (was?.began ?? (c.attempt > 0 ? Date.parse(c.at) : null)) : Date.parse(c.at),
			ended: ended ? Date.parse(c.at) : null,
			good: c.to === 'Succ',
		})
		any = true
	}
	return any ? { rows: data.rows, cut: data.cut } : data
}

export const useRan = (from: () => number) => useResource(s => load(from(), s), { patch: learn, on: [from] })
