/* Commands until they are over: asked for once, then the stream tells. Asked once more only when it may have
 * told and was not heard: it begins anew, lost some, the tab was hidden; or when the asking failed. Where there is
 * no stream, since something on the way lets none through, it is asked for now and then. */
import { watch } from 'vue'
import { api, ApiError, type Command } from '@/api/client'
import { listen, status } from '@/live/live'
import type { CommandNews } from '@/live/protocol'

const AGAIN = 4000 /* ms after an asking that failed, or that nothing will follow */
const gone = new Set([401, 403, 404])
const ends = new Set(['done', 'failed', 'cancelled'])
export const ended = (state: string) => ends.has(state)

interface Ear {
	at: (c: Command) => void
	failed?: (e: ApiError) => void
}
interface Watched {
	ears: Set<Ear>
	last?: Command
	asking: boolean
	again: boolean /* something happened while it was asked */
	later?: ReturnType<typeof setTimeout>
}

const watched = new Map<string, Watched>()
const visible = () => document.visibilityState === 'visible'
let begun = false

function forget(id: string) {
	clearTimeout(watched.get(id)?.later)
	watched.delete(id)
}

function again(id: string, w: Watched) {
	clearTimeout(w.later)
	w.later = setTimeout(() => void look(id), AGAIN)
}

function tell(id: string, w: Watched, c: Command) {
	w.last = c
	if (ended(c.state)) forget(id)
	else if (status.value !== 'live') again(id, w)
	for (const ear of [...w.ears]) ear.at(c)
}

function fail(id: string, w: Watched, e: unknown) {
	const error = e instanceof ApiError ? e : new ApiError(0, 'CLIENT', String(e))
	if (gone.has(error.status)) forget(id)
	else again(id, w)
	for (const ear of [...w.ears]) ear.failed?.(error)
}

async function look(id: string) {
	const w = watched.get(id)
	if (!w || !visible()) return
	w.again = w.asking
	if (w.asking) return
	w.asking = true
	clearTimeout(w.later)
	try {
		const c = await api.command(id)
		if (watched.get(id) === w) tell(id, w, c)
	} catch (e) {
		if (watched.get(id) === w) fail(id, w, e)
	}
	w.asking = false
	if (w.again && watched.get(id) === w) void look(id)
}

/* Progress is in the news; how it ended, with its error, is asked for. */
function hear(news: CommandNews[]) {
	for (const n of news) {
		const w = watched.get(n.id)
		if (!w) continue
		if (ended(n.state) || !w.last) void look(n.id)
		else
			tell(n.id, w, { ...w.last, state: n.state as Command['state'], done: n.done, failed: n.failed, total: n.total })
	}
}

function lookAll() {
	for (const id of [...watched.keys()]) void look(id)
}

function begin() {
	if (begun) return
	begun = true
	listen({ commands: hear, reset: lookAll })
	watch(status, s => {
		if (s === 'live') lookAll()
	})
	document.addEventListener('visibilitychange', lookAll)
}

/* `at` hears each state of the command, the last one too; a failed request is repeated, unless the command is not available. Returns how to leave. */
export function follow(id: string, at: Ear['at'], failed?: Ear['failed']): () => void {
	begin()
	const ear: Ear = failed ? { at, failed } : { at }
	const w = watched.get(id) ?? { ears: new Set(), asking: false, again: false }
	w.ears.add(ear)
	watched.set(id, w)
	if (!w.asking) void look(id)
	return () => {
		w.ears.delete(ear)
		if (!w.ears.size && watched.get(id) === w) forget(id)
	}
}

/* The command when it is over. */
export function over(id: string): Promise<Command> {
	return new Promise((done, refuse) => {
		follow(
			id,
			c => {
				if (ended(c.state)) done(c)
			},
			e => {
				if (gone.has(e.status)) refuse(e)
			},
		)
	})
}

/* The same of an answer, which mostly says already how it ended. */
export async function finished(c: Command): Promise<Command> {
	return ended(c.state) ? c : over(c.command)
}
