/* What a page shows of the server: old rows stay while new ones come, errors do not blank them,
 * the stream says when to look again. */
import { onScopeDispose, ref, shallowRef, watch, type Ref, type WatchSource } from 'vue'
import { ApiError } from '@/api/client'
import { listen } from '@/live/live'
import type { CommandNews } from '@/live/protocol'
import type { Change } from '@/live/reducer'
import { session } from './session'

export interface Options<T> {
	/* Ask again when one of these changes. */
	on?: WatchSource[]
	/* Whether changes concern this. Default: none do. */
	cares?: (c: Change[], data: T) => boolean
	/* Whether news of commands do. */
	commands?: (c: CommandNews[], data: T) => boolean
	/* Changes at once, before the server is asked again. */
	patch?: (data: T, c: Change[]) => T
	/* Not more often than this, ms. */
	every?: number
	/* Ask again by itself, ms: for what no event tells. */
	poll?: number
	when?: () => boolean
}

/* After so many failures in a row: 4 s, then twice as long each time, at most two minutes. */
export const pause = (failed: number) => Math.min(4000 * 2 ** (failed - 1), 120_000)

/* `loading`: nothing to show yet, and it takes a while. */
function useBusy(empty: () => boolean) {
	const busy = ref(false),
		loading = ref(false)
	let slow: ReturnType<typeof setTimeout> | undefined
	watch(
		busy,
		on => {
			clearTimeout(slow)
			if (!on) loading.value = false
			else if (empty())
				slow = setTimeout(() => {
					loading.value = empty() && busy.value
				}, 200)
		},
		{ flush: 'sync' },
	)
	onScopeDispose(() => clearTimeout(slow))
	return { busy, loading }
}

/* What is away is asked with growing pauses, also by the clock (`tick`).
 * When to ask again: what the stream tells, what it depends on, a person who signs in, the clock. */
function useWhen<T>(
	o: Options<T>,
	data: Ref<T | undefined>,
	run: () => Promise<void>,
	soon: (wait?: number) => void,
	tick: () => unknown,
) {
	const leave = listen({
		changes(c) {
			if (data.value === undefined) return
			if (o.patch) data.value = o.patch(data.value, c)
			if (o.cares?.(c, data.value)) soon()
		},
		commands(c) {
			if (data.value !== undefined && o.commands?.(c, data.value)) soon()
		},
		reset: () => soon(),
	})
	if (o.on) watch(o.on, () => void run())
	watch(
		() => session.state,
		s => {
			if (s === 'in') void run()
		},
	)
	const poll = o.poll
		? setInterval(() => {
				if (document.visibilityState === 'visible') tick()
			}, o.poll)
		: undefined
	onScopeDispose(() => {
		clearInterval(poll)
		leave()
	})
}

export function useResource<T>(ask: (signal: AbortSignal) => Promise<T>, o: Options<T> = {}) {
	const data = shallowRef<T>()
	const error = shallowRef<ApiError | null>(null)
	const { busy, loading } = useBusy(() => data.value === undefined)
	const at = ref(0)
	let asked: AbortController | undefined
	let later: ReturnType<typeof setTimeout> | undefined
	let again = false
	let last = 0,
		failed = 0
	let gone = false

	async function run(): Promise<void> {
		if (gone || session.state !== 'in' || (o.when && !o.when())) return
		asked?.abort()
		const mine = (asked = new AbortController())
		busy.value = true
		last = Date.now()
		try {
			const got = await ask(mine.signal)
			if (mine !== asked) return
			data.value = got
			error.value = null
			at.value = Date.now()
			failed = 0
		} catch (e) {
			if (mine !== asked || mine.signal.aborted) return
			error.value = e instanceof ApiError ? e : new ApiError(0, 'CLIENT', String(e))
			failed++
			if (error.value.retry || error.value.offline) soon(pause(failed))
		} finally {
			if (mine === asked) busy.value = false
			if (mine === asked && again) {
				again = false
				soon()
			}
		}
	}

	function soon(wait = o.every ?? 1000) {
		if (busy.value) again = true
		if (busy.value || later || gone) return
		later = setTimeout(
			() => {
				later = undefined
				void run()
			},
			Math.max(0, Math.min(wait, wait - (Date.now() - last))),
		)
	}

	function fresh() {
		clearTimeout(later)
		later = undefined
		data.value = undefined
		error.value = null
		return run()
	}

	useWhen(o, data, run, soon, () => Date.now() - last >= (failed && pause(failed) - 50) && soon(0))
	onScopeDispose(() => {
		gone = true
		asked?.abort()
		clearTimeout(later)
	})
	void run()
	return { data, error, loading, busy, at, refresh: run, fresh, soon }
}

export type Resource<T> = ReturnType<typeof useResource<T>>
