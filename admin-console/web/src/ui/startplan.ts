/* The server's plan of what the form of a run says: asked again as it changes, the last answer counts. */
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, ApiError, requestId, type Command, type Preview } from '@/api/client'
import { args, fault, outcome, type Form } from '@/domain/start'

const TYPES = 350 /* ms: a hand that types */

export function usePlan(form: Form) {
	const plan = shallowRef<Preview | null>(null),
		refusal = shallowRef<ApiError | null>(null),
		asking = ref(false)
	const wrong = computed(() => fault(form)),
		sum = computed(() => outcome(plan.value))
	let asked = 0,
		id = requestId(),
		later: ReturnType<typeof setTimeout> | undefined

	async function ask(mine: number) {
		let got: Preview | null = null,
			no: ApiError | null = null
		try {
			got = await api.preview('run-start', args(form))
		} catch (e) {
			no = e instanceof ApiError ? e : new ApiError(0, 'CLIENT', String(e))
		}
		if (mine !== asked) return
		plan.value = got
		refusal.value = no
		asking.value = false
	}
	watch(
		() => JSON.stringify([args(form), wrong.value]),
		(_, before) => {
			const mine = ++asked
			id = requestId()
			clearTimeout(later)
			asking.value = !wrong.value
			if (wrong.value) plan.value = refusal.value = null
			else later = setTimeout(() => void ask(mine), before === undefined ? 0 : TYPES)
		},
		{ immediate: true },
	)
	onScopeDispose(() => clearTimeout(later))

	/* However often it is sent: the request keeps its id until the form changes. */
	const send = (message: string): Promise<Command> =>
		api.ask('run-start', { ...args(form), ...(message ? { message } : {}) }, id)
	const able = computed(() => !asking.value && !refusal.value && sum.value.starts > 0)
	return { plan, refusal, asking, wrong, sum, able, send }
}
