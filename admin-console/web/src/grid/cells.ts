/* What the grid shows: the newest runs, requested as on every page, and older ones as the reader scrolls; cells change at
 * once, what the stream does not tell soon after. */
import { computed, onScopeDispose, ref, shallowRef, type Ref } from 'vue'
import { api, type Graph as ApiGraph } from '@/api/client'
import { column, isTask, joined, patched, rows as rowsOf, type Column, type Grid } from '@/domain/grid'
import { drawn } from '@/domain/taskgraph'
import { layersOf } from '@/graph/layout'
import { Model } from '@/graph/model'
import { listen } from '@/live/live'
import { useResource } from '@/stores/resource'
import { attempt } from '@/ui/send'

const PAGE = 42
const FEW = 6 /* changed runs that are asked for one by one */

interface View {
	graph: ApiGraph
	grid: Grid
	cols: Column[]
}

/* The tasks of a graph, each with its distance from the roots. */
function tasksOf(graph: ApiGraph) {
	const pic = drawn(graph),
		m = new Model(
			pic.nodes.filter(n => !n.ghost),
			pic.edges,
		),
		layer = layersOf(m),
		at = new Map(m.nodes.map((n, i) => [n.id, layer[i]!]))
	return graph.tasks.map(k => ({
		task: k.task,
		task_id: k.task_id,
		state: k.state ?? '',
		depth: at.get(k.task) ?? 0,
	}))
}

/* What the stream tells is patched in (`keep`); runs it only says have changed are asked for soon after. */
function useStream(
	name: () => string,
	cols: Ref<readonly Column[]>,
	taskAt: Ref<ReadonlyMap<number, number>>,
	refresh: () => Promise<void>,
	keep: (all: readonly Column[]) => void,
) {
	let stale = new Set<number>()
	let later: ReturnType<typeof setTimeout> | undefined
	async function renew() {
		later = undefined
		const ask = [...stale]
		stale = new Set()
		if (ask.includes(Infinity) || ask.length > FEW) {
			await refresh()
			return
		}
		for (const to of ask) {
			try {
				const got = (await api.grid(name(), { limit: 1, before: new Date(to).toISOString() })).items.map(column)
				if (got[0]?.to === to) keep(joined(cols.value, got))
			} catch {
				/* the next change asks again */
			}
		}
	}
	const leave = listen({
		changes(c) {
			if (!taskAt.value.size) return
			const got = patched(cols.value, taskAt.value, c)
			if (got.cols !== cols.value) keep(got.cols)
			for (const to of got.stale) stale.add(to)
			if (stale.size) later ??= setTimeout(() => void renew(), 1500)
		},
		reset: () => void refresh(),
	})
	onScopeDispose(() => {
		leave()
		clearTimeout(later)
	})
}

export function useCells(name: () => string, find: Ref<string>, trouble: Ref<boolean>) {
	const older = shallowRef<Column[]>([]),
		more = ref(false),
		busy = ref(false)
	const view = useResource<View>(
		async s => {
			const [graph, grid] = await Promise.all([api.graph(name(), s), api.grid(name(), { limit: PAGE }, s)])
			if (!older.value.length) more.value = grid.more
			return { graph, grid, cols: grid.items.map(column).reverse() }
		},
		{ poll: 120_000 },
	)
	const d = computed(() => view.data.value)
	const cols = computed(() => (d.value ? joined(older.value, d.value.cols) : []))
	const taskAt = computed(() => new Map((d.value?.grid.task_ids ?? []).map((id, i) => [id, i])))
	const tasks = computed(() => (d.value ? tasksOf(d.value.graph) : []))
	const rows = computed(() => rowsOf(tasks.value, d.value?.grid.task_ids ?? [], cols.value, find.value, trouble.value))
	const shownTasks = computed(() => rows.value.filter(isTask).length)

	async function loadOlder() {
		const first = cols.value[0]
		if (busy.value || !more.value || !first) return
		busy.value = true
		const ok = await attempt(
			() => api.grid(name(), { limit: PAGE, before: first.run.from }),
			got => {
				more.value = got.more && got.items.length > 0
				older.value = joined(got.items.map(column), older.value)
			},
		)
		if (!ok) more.value = false
		busy.value = false
	}

	function keep(all: readonly Column[]) {
		if (!d.value) return
		const first = d.value.cols[0]?.from ?? Infinity
		older.value = all.filter(c => c.from < first)
		view.data.value = { ...d.value, cols: all.filter(c => c.from >= first) }
	}
	useStream(name, cols, taskAt, () => view.refresh(), keep)
	const cycle = computed(() => d.value?.grid.cycle_s ?? 86_400)
	const zone = computed(() => d.value?.graph.zone)
	return { view, cols, rows, shownTasks, busy, cycle, zone, loadOlder }
}
