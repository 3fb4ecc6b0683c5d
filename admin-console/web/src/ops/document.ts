/* A document that is edited as text: what the server says of it, and the save. */
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, ApiError } from '@/api/client'
import { faultsOf } from '@/editor/check'
import type { Fault } from '@/editor/parts'
import { finished } from '@/stores/command'
import { follow } from '@/ui/bulk'

type Args = () => Record<string, unknown>

/* What the server says of the text, asked a moment after it changed; the last answer counts. */
function useSaid(args: Args) {
	const faults = shallowRef<Fault[]>([]),
		error = ref(''),
		asking = ref(false)
	let timer: ReturnType<typeof setTimeout> | undefined,
		asked = 0,
		checking = Promise.resolve()

	function clear() {
		faults.value = []
		error.value = ''
	}
	function hear(e: unknown) {
		faults.value = e instanceof ApiError ? faultsOf(e) : []
		error.value = faults.value.length
			? ''
			: e instanceof ApiError
				? e.message + (e.hint ? ` · ${e.hint}` : '')
				: String(e)
	}
	async function check() {
		const mine = ++asked
		asking.value = true
		try {
			await api.preview('apply', args())
			if (mine === asked) clear()
		} catch (e) {
			if (mine === asked) hear(e)
		}
		if (mine === asked) asking.value = false
	}
	const stop = () => clearTimeout(timer)
	function soon() {
		stop()
		timer = setTimeout(() => {
			checking = check()
		}, 350)
	}
	/* What is on its way counts no more. */
	function forget() {
		asked++
		asking.value = false
		clear()
	}
	onScopeDispose(stop)
	return { faults, error, asking, clear, hear, soon, stop, forget, settled: () => checking }
}

export function useDocument(file: () => string) {
	const text = ref(''),
		base = ref(''),
		version = ref(0),
		sending = ref(false)
	/* Between a save and what the server then has, the version is not known: a check would be refused as stale. */
	let unknown = false
	const dirty = computed(() => text.value !== base.value)
	const args = () => ({ documents: [{ name: file() + '.yaml', text: text.value, version: version.value }] })
	const said = useSaid(args)
	const { faults, error, asking } = said

	/* What the server has; what was typed since stays when it is on top of just that. */
	function take(t: string, v: number) {
		version.value = v
		unknown = false
		if (dirty.value && t === base.value) {
			said.soon()
			return
		}
		base.value = t
		text.value = t
		said.clear()
	}
	watch(text, () => {
		said.stop()
		if (!dirty.value) said.forget()
		else if (!unknown) said.soon()
	})

	/* True when it is saved. */
	async function save(message = ''): Promise<boolean> {
		sending.value = true
		said.stop()
		await said.settled()
		try {
			const sent = text.value
			const asked = await api.ask('apply', { ...args(), ...(message ? { message } : {}) })
			follow(asked)
			const c = await finished(asked)
			if (c.state === 'failed') {
				error.value = c.error ?? ''
				return false
			}
			base.value = sent
			unknown = true
			return true
		} catch (e) {
			said.hear(e)
			return false
		} finally {
			sending.value = false
		}
	}
	return { text, base, version, faults, error, asking, sending, dirty, take, save }
}
