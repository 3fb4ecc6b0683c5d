/* The server's plan of what a form says: asked again as the form changes, the last answer counts. */
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, ApiError, requestId, type Command, type Preview } from '@/api/client'
import { args, estimate, faults, type Form } from '@/domain/backfill'

const TIMED = 60 /* tasks whose figures are asked for */
const refusalOf = (e: unknown) => (e instanceof ApiError ? e : new ApiError(0, 'CLIENT', String(e)))

/* How long tasks usually take, asked once a task. */
function useUsual() {
	const usual = shallowRef(new Map<string, number>())
	async function times(p: Preview) {
		const todo = (p.tasks ?? [])
			.slice(0, TIMED)
			.map(x => x.task ?? '')
			.filter(n => n && !usual.value.has(n))
		const got = await Promise.all(
			todo.map(n =>
				api.statistics(30, n).then(
					s => [n, s.total?.duration_us?.p50] as const,
					() => [n, undefined] as const,
				),
			),
		)
		usual.value = new Map([
			...usual.value,
			...got
				.filter((g): g is readonly [string, number] => g[1] !== undefined && g[1] !== null)
				.map(([n, us]) => [n, us / 1000] as const),
		])
	}
	return { usual, times }
}

export function usePlan(form: () => Form) {
	const wrong = computed(() => faults(form()))
	const ready = computed(() => !Object.keys(wrong.value).length)
	const plan = shallowRef<Preview | null>(null),
		refusal = shallowRef<ApiError | null>(null),
		asking = ref(false),
		sending = ref(false)
	const { usual, times } = useUsual()
	let asked = 0,
		id = requestId(),
		later: ReturnType<typeof setTimeout> | undefined

	async function ask() {
		const mine = ++asked
		asking.value = true
		try {
			const got = await api.preview(form().kind, args(form()))
			if (mine === asked) {
				plan.value = got
				refusal.value = null
				void times(got)
			}
		} catch (e) {
			if (mine === asked) {
				refusal.value = refusalOf(e)
				plan.value = null
			}
		}
		if (mine === asked) asking.value = false
	}
	watch(
		[() => JSON.stringify([form().kind, args(form())]), ready],
		() => {
			id = requestId()
			clearTimeout(later)
			if (ready.value) {
				later = setTimeout(() => void ask(), plan.value ? 350 : 0)
				return
			}
			plan.value = null
			refusal.value = null
		},
		{ immediate: true },
	)
	onScopeDispose(() => clearTimeout(later))

	const guess = computed(() => estimate(plan.value?.tasks ?? [], usual.value, Number(form().parallel) || 0))
	const able = computed(() => !!plan.value?.total && !asking.value && !sending.value)

	/* Sent once, however often it is clicked: the request keeps its id until the form changes. */
	async function send(reason: string): Promise<Command | null> {
		if (!able.value) return null
		sending.value = true
		try {
			return await api.ask(form().kind, { ...args(form()), ...(reason ? { message: reason } : {}) }, id)
		} catch (e) {
			refusal.value = refusalOf(e)
			return null
		} finally {
			sending.value = false
		}
	}
	return { wrong, plan, refusal, asking, guess, able, send }
}
