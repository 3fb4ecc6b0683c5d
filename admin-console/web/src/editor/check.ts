/* What the server says of the open document: its faults, and the next fires and edges of the task that is selected. */
import { computed, onScopeDispose, ref, shallowRef, watch, type Ref } from 'vue'
import { api, ApiError, type Applied, type Diagnosis, type TaskPreview } from '@/api/client'
import type { Chosen } from './chosen'
import type { EditorDoc } from './doc'
import { faultAt, taskOfPath } from './faults'
import type { OpenDocument } from './open'
import type { Fault } from './parts'

const faultOf = ({ line, column, path, message, hint, code }: Diagnosis): Fault => ({
	line,
	column,
	path,
	message,
	hint,
	code,
})
/* A refusal with a place in the text becomes faults; what has none stays an error. */
export const faultsOf = (e: ApiError): Fault[] => (e.details?.errors ?? []).map(faultOf)

/* What a check came to: faults, and the answer or the refusal they are of. */
interface Outcome {
	faults: Fault[]
	preview: TaskPreview | null
	answer: Applied | null
	refused: ApiError | null
}
const answered = (got: Applied): Outcome => ({
	faults: [
		...(got.errors ?? []).map(w => ({ ...faultOf(w), warning: false })),
		...(got.warnings ?? []).map(w => ({ ...faultOf(w), warning: true })),
	],
	preview: got.preview ?? null,
	answer: got,
	refused: null,
})
function refusedBy(e: unknown): Outcome {
	const err = e instanceof ApiError ? e : new ApiError(0, 'CLIENT', String(e)),
		list = faultsOf(err)
	if (list.length) return { faults: list, preview: null, answer: null, refused: null }
	const aside = err.offline || err.forbidden || err.status >= 500
	return {
		faults: aside ? [] : [{ line: 0, column: 0, message: err.message, hint: err.hint, code: err.code }],
		preview: null,
		answer: null,
		refused: err,
	}
}

/* `task`: whose fires and edges are wanted too. */
function ask(doc: EditorDoc, file: string, task: string | undefined, from: string, signal: AbortSignal) {
	const wanted = { task: `${doc.project}/${doc.name}/${task}`, fires: 10, edges: 4, ...(from ? { from } : {}) }
	return api.check(`${doc.name || file}.yaml`, doc.text, undefined, task ? wanted : {}, signal)
}

/* Faults by the task and the field they belong to. */
export function useFaults({ doc, tick, see }: OpenDocument) {
	const faults = shallowRef<Fault[]>([])
	const errors = computed(() => faults.value.filter(f => !f.warning))
	const byTask = see(d => {
		const m = new Map<string, 'error' | 'warning'>()
		for (const f of faults.value) {
			const task = taskOfPath(d, f.path)
			if (task && m.get(task) !== 'error') m.set(task, f.warning ? 'warning' : 'error')
		}
		return m
	})
	const faultOf = (task: string, key: string, deep = false) => {
		void tick.value
		return faultAt(faults.value, doc(), task, key, deep)
	}
	return { faults, errors, byTask, faultOf }
}

/* Asks anew a moment after each change; the last question's answer counts. `file`: its name while the document has none. */
export function useCheck(
	{ doc, tick, mayEdit }: OpenDocument,
	{ last }: Chosen,
	ready: Ref<boolean>,
	file: string,
	faults: Ref<Fault[]>,
) {
	const preview = shallowRef<TaskPreview | null>(null)
	const answer = shallowRef<Applied | null>(null)
	const refused = shallowRef<ApiError | null>(null)
	const checking = ref(false)
	const checked = ref(-1) /* the tick it speaks of */
	const from = ref('')
	let asked: AbortController | undefined
	let later: ReturnType<typeof setTimeout> | undefined

	function take(of: number, o: Outcome) {
		faults.value = o.faults
		preview.value = o.preview
		answer.value = o.answer
		refused.value = o.refused
		checked.value = of
	}
	async function check() {
		clearTimeout(later)
		asked?.abort()
		if (!ready.value || !mayEdit.value) return
		const at = tick.value,
			d = doc()
		if (d.broken) {
			take(at, { faults: d.faults(), preview: null, answer: answer.value, refused: refused.value })
			checking.value = false
			return
		}
		const mine = (asked = new AbortController())
		checking.value = true
		const task = d.task(last.value)?.name ?? (d.isPipeline ? d.tasks[0]?.name : undefined)
		const outcome = await ask(d, file, task, from.value, mine.signal).then(answered, refusedBy)
		if (mine !== asked) return
		if (!mine.signal.aborted) take(at, outcome)
		checking.value = false
	}
	function soon(wait = 450) {
		clearTimeout(later)
		later = setTimeout(() => void check(), wait)
	}
	watch(tick, () => soon())
	watch([last, from], () => soon(120))
	onScopeDispose(() => {
		clearTimeout(later)
		asked?.abort()
	})
	return { preview, answer, refused, checking, checked, check, soon, from }
}
