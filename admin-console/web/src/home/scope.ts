/* Whose day it is: everybody's, one project's, or that of the workflows one owns; kept in the address. */
import { computed } from 'vue'
import { api, whole } from '@/api/client'
import { useResource } from '@/stores/resource'
import { session } from '@/stores/session'
import { useQuery } from '@/ui/query'

const MINE = 'mine' /* no project is called so: a name of one is told by its slash */
const workflowOf = (task: string) => task.split('/').slice(0, 2).join('/')

export function useScope() {
	const of = useQuery('of')
	const mine = useResource(
		async s =>
			new Set(
				(await whole(cursor => api.tasks({ limit: 500, cursor }, s)))
					.filter(k => k.owner === session.user)
					.map(k => workflowOf(k.task)),
			),
		{ on: [of], poll: 300_000, when: () => of.value === MINE },
	)
	/* `name`: of a workflow or a task. */
	const holds = computed(() => {
		const one = of.value
		if (!one) return () => true
		if (one === MINE) return (name: string) => mine.data.value?.has(workflowOf(name)) ?? false
		return (name: string) => name.startsWith(one.slice(0, -1) + '/')
	})
	/* What the server can narrow by itself. */
	const prefix = computed(() => (of.value && of.value !== MINE ? of.value.slice(0, -1) + '/*' : undefined))
	return { of, holds, prefix, mine }
}
