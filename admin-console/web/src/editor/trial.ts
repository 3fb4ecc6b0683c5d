/* The drawn workflow as it is tried beside the saved one: begun, followed, ended. The server takes it away by
 * itself; what is here ends with the page. */
import { computed, ref, shallowRef } from 'vue'
import { api, ApiError, type Instance } from '@/api/client'
import { kindOf, type Kind } from '@/domain/states'
import { ended } from '@/stores/command'
import { useResource } from '@/stores/resource'
import type { OpenDocument } from './open'

export interface Tried {
	upTo?: string
	date?: string
	noOp?: boolean
}

/* Of several dates of a task the one that a person looks for first. */
const first: Partial<Record<Kind, number>> = {
	failed: 0,
	killed: 1,
	hanged: 2,
	running: 3,
	killing: 4,
	retry: 5,
	queued: 6,
	ready: 7,
}
const rank = (i: Instance) => first[kindOf(i)] ?? 9
export const shortName = (i: Instance) => (i.task ?? '').slice((i.task ?? '').lastIndexOf('/') + 1)

/* By the names of tasks, as the drawing has them. */
export function kindsOf(members: readonly Instance[]): Map<string, Kind> {
	const of = new Map<string, Instance>()
	for (const i of members) {
		const name = shortName(i),
			was = of.get(name)
		if (!was || rank(i) < rank(was)) of.set(name, i)
	}
	return new Map([...of].map(([name, i]) => [name, kindOf(i)]))
}

export function useTrial({ doc }: OpenDocument) {
	const command = ref('')
	const asking = ref(false)
	const error = shallowRef<ApiError | null>(null)
	const seen = useResource(s => api.commandInstances(command.value, s, 1), {
		on: [command],
		when: () => !!command.value,
		every: 500,
		cares: (c, d) => d.command === command.value && c.some(x => d.instances.unfinished.some(i => i.id === x.id)),
		commands: c => c.some(x => x.id === command.value),
		poll: 4000 /* where no stream comes through, and for the end of the command */,
	})
	const now = computed(() => (seen.data.value?.command === command.value ? seen.data.value : undefined))
	const members = computed<Instance[]>(() =>
		now.value
			? [...now.value.instances.ended, ...now.value.instances.unfinished].sort(
					(a, b) => (a.created ?? '').localeCompare(b.created ?? '') || shortName(a).localeCompare(shortName(b)),
				)
			: [],
	)
	const kinds = computed(() => kindsOf(members.value))
	const over = computed(() => !!now.value && ended(now.value.state))
	const done = computed(() => now.value?.instances.total ?? 0)
	const left = computed(() => now.value?.instances.unfinished.length ?? 0)

	async function ask<T>(what: () => Promise<T>): Promise<T | undefined> {
		asking.value = true
		error.value = null
		try {
			return await what()
		} catch (e) {
			error.value = e instanceof ApiError ? e : new ApiError(0, 'CLIENT', String(e))
			return undefined
		} finally {
			asking.value = false
		}
	}
	const begin = async (o: Tried) => {
		const args = {
			document: doc().text,
			...(o.upTo ? { up_to: o.upTo } : {}),
			...(o.date ? { date: o.date } : {}),
			...(o.noOp ? { no_op: true } : {}),
		}
		const c = await ask(() => api.ask('test-start', args))
		if (c?.state === 'failed') error.value = new ApiError(400, 'REFUSED', c.error || c.state)
		else if (c) command.value = c.command
	}
	const stop = () => ask(() => api.ask('command-cancel', { command: command.value }))
	function close() {
		command.value = ''
		error.value = null
	}
	return { command, asking, error, now, members, kinds, over, done, left, begin, stop, close }
}
