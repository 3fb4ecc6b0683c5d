/* What the page asks for: the rows of the query in the address, and how far those are that run. */
import { computed, reactive, ref, shallowRef, watch, type Ref } from 'vue'
import { api, ApiError, type Instance, type Page } from '@/api/client'
import { parse } from '@/domain/query'
import { patch, type Change } from '@/live/reducer'
import { useResource } from '@/stores/resource'
import { useQuery } from '@/ui/query'
import { allIn, everyId, filterOf, turned, type Named } from './state'

/* The text in the bar, and what of it is asked: `q` of the address. */
export function useSearch() {
	const asked = useQuery('q'),
		text = ref(asked.value)
	watch(asked, q => {
		if (q !== text.value) text.value = q
	})
	function search() {
		asked.value = text.value.trim()
	}
	function set(q: string) {
		text.value = q
		search()
	}
	return reactive({ asked, text, search, set, query: computed(() => parse(asked.value)) })
}
export type Search = ReturnType<typeof useSearch>

/* A name that no task has finds nothing: the rows of another query are no answer. */
function nobody(e: unknown): Page<Instance> {
	if (e instanceof ApiError && e.status === 404) return { items: [], cursor: null, number: '0' }
	throw e
}

type Rows = Page<Instance> & { more: boolean }
export function useList(search: Search) {
	const brokers = shallowRef<readonly Named[]>([])
	void api
		.brokers()
		.then(b => {
			brokers.value = b.brokers
		})
		.catch(() => {})
	const filter = () => filterOf(search.query, brokers.value)
	const sort = useQuery('sort', 'change'),
		order = useQuery('order', 'desc')
	const limit = ref(500)
	const list = useResource<Rows>(
		async s => {
			const rows: Instance[] = []
			let page: Page<Instance>, cursor: string | undefined
			do {
				page = await api
					.instances({ ...filter(), sort: sort.value, order: order.value, limit: 250, cursor }, s)
					.catch(nobody)
				rows.push(...page.items)
				cursor = page.cursor ?? undefined
			} while (cursor && rows.length < limit.value)
			return { ...page, items: rows, more: !!cursor }
		},
		{
			on: [() => search.asked, sort, order, limit, brokers],
			every: 1500,
			patch: (d, c: Change[]) => {
				const items = patch(d.items, c)
				return items === d.items ? d : { ...d, items: items as Instance[] }
			},
			cares: c => c.length > 0,
		},
	)
	return { list, limit, sort, order, filter, rows: computed(() => list.data.value?.items ?? []) }
}

/* How far what runs says it is. A job says it as often as it likes; the server keeps it in memory, outside the ledger
 * whose events are the stream, so no event tells: the first that run are asked about, and none while none runs. */
const FIRST = 100
export function useFar(rows: Ref<readonly Instance[]>) {
	const running = computed(() =>
		rows.value
			.filter(r => r.state === 'Running')
			.slice(0, FIRST)
			.map(r => r.id),
	)
	const far = useResource<Map<string, number>>(
		async s => new Map((await api.progress(running.value, s)).items.map(i => [i.id, i.permille])),
		{ on: [() => running.value.join()], poll: 5000, when: () => running.value.length > 0 },
	)
	return (i: Instance) => (i.state === 'Running' ? far.data.value?.get(i.id) : undefined)
}

/* What is picked: rows, or the whole query; another query begins anew. */
export function useChoice(rows: Ref<readonly Instance[]>, search: Search) {
	const ids = ref(new Set<string>()),
		whole = ref(false),
		at = ref(-1)
	let anchor = -1
	const all = computed(() => allIn(rows.value, ids.value))
	function take(next: Set<string>) {
		ids.value = next
		whole.value = false
	}
	const clear = () => take(new Set())
	watch(
		() => search.asked,
		() => {
			clear()
			at.value = -1
		},
	)
	function pick(n: number, range = false) {
		take(turned(rows.value, ids.value, n, range ? (anchor < 0 ? n : anchor) : undefined))
		anchor = n
	}
	return reactive({
		ids,
		whole,
		at,
		all,
		any: computed(() => ids.value.size > 0 || whole.value),
		chosen: computed(() => rows.value.filter(r => ids.value.has(r.id))),
		clear,
		pick,
		pickAll: () => take(all.value ? new Set() : everyId(rows.value)),
		goTo: (n: number) => {
			at.value = n
		},
		pickWhole: () => {
			whole.value = true
		},
	})
}
export type Choice = ReturnType<typeof useChoice>
