/* What a page keeps in its address: words of the query, each left out where it is the usual. What is set in one go is
 * one step of the address, so that one change does not undo the other. */
import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'

type Changes = Record<string, string | undefined>
let waiting: Changes | null = null

export function usePut() {
	const route = useRoute(),
		router = useRouter()
	return (changes: Changes) => {
		if (waiting) {
			Object.assign(waiting, changes)
			return
		}
		waiting = { ...changes }
		queueMicrotask(() => {
			const all = waiting
			waiting = null
			void router.replace({ query: { ...route.query, ...all } })
		})
	}
}

export function useQuery(key: string, usual = '') {
	const route = useRoute(),
		put = usePut()
	return computed({
		get: () => String(route.query[key] ?? usual),
		set: v => put({ [key]: v && v !== usual ? v : undefined }),
	})
}
