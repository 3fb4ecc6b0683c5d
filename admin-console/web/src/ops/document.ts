/* A document that is edited as text: what the server says of it, and the save. */
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, ApiError } from '@/api/client'
import { faultsOf } from '@/editor/check'
import type { Fault } from '@/editor/parts'
import { finished } from '@/stores/command'
import { follow } from '@/ui/bulk'

export function useDocument(file: () => string) {
	const text = ref(''),
		base = ref(''),
		version = ref(0)
	const faults = shallowRef<Fault[]>([]),
		error = ref(''),
		asking = ref(false),
		sending = ref(false)
	let timer: ReturnType<typeof setTimeout> | undefined,
		asked = 0,
		checking = Promise.resolve()
	/* Between a save and what the server then has, the version is not known: a check would be refused as stale. */
	let unknown = false
	const dirty = computed(() => text.value !== base.value)
	const args = () => ({ documents: [{ name: file() + '.yaml', text: text.value, version: version.value }] })

	/* What the server has; what was typed since stays when it is on top of just that. */
	function take(t: string, v: number) {
		version.value = v
		unknown = false
		if (dirty.value && t === base.value) {
			soon()
			return
		}
		base.value = t
		text.value = t
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
			if (mine === asked) {
				faults.value = []
				error.value = ''
			}
		} catch (e) {
			if (mine === asked) hear(e)
		}
		if (mine === asked) asking.value = false
	}
	function soon() {
		clearTimeout(timer)
		timer = setTimeout(() => {
			checking = check()
		}, 350)
	}
	watch(text, () => {
		clearTimeout(timer)
		if (dirty.value) {
			if (!unknown) soon()
		} else {
			asked++
			faults.value = []
			error.value = ''
			asking.value = false
		}
	})
	onScopeDispose(() => clearTimeout(timer))

	/* True when it is saved. */
	async function save(message = ''): Promise<boolean> {
		sending.value = true
		clearTimeout(timer)
		await checking
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
			hear(e)
			return false
		} finally {
			sending.value = false
		}
	}
	return { text, base, version, faults, error, asking, sending, dirty, take, save }
}
