/* What is in trouble, counted once: the tile and the list of Home and of Situation are the same answer. */
import { computed } from 'vue'
import { api } from '@/api/client'
import { families } from '@/domain/states'
import { number } from '@/i18n'
import { useResource } from './resource'

const MOST = 100 /* beyond that: "100+" */

export function useTrouble() {
	const list = useResource(
		s => api.instances({ states: families.trouble.join(','), sort: 'change', order: 'desc', limit: MOST }, s),
		{
			every: 1000,
			cares: c => c.some(x => families.trouble.includes(x.to ?? '') || families.trouble.includes(x.from ?? '')),
		},
	)
	const items = computed(() => list.data.value?.items ?? [])
	const n = computed(() => items.value.length)
	const of = (state: string) => items.value.filter(i => i.state === state).length
	const figure = computed(() => (list.data.value ? number(n.value) + (list.data.value.cursor ? '+' : '') : '–'))
	return { list, items, n, of, figure }
}
