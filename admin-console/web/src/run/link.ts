/* What a permanent address names: /p/PROJECT/WORKFLOW/TASK/LABEL?run=GENERATION&attempt=N. The server reads the
 * label, so an address means what the same words mean everywhere. Pure but for what it is given to ask. */
import { ApiError, type Event } from '@/api/client'
import { attemptsOf } from './attempts'

export interface Address {
	task: string
	label: string
	generation?: number
	attempt?: number
}

/* The instance, and which attempt of it; `absent`: what there is not, in the server's words where it has some. */
type Absent = { absent: 'task' | 'date' | 'instance'; text: string }
export type Found = { id: string; label: string; generation?: number; attempt?: number; lacks: boolean } | Absent

export interface Asks {
	resolve: (task: string, label: string) => Promise<{ id: string; label?: string }>
	instance: (id: string) => Promise<unknown>
	history: (id: string) => Promise<{ items: readonly Event[] }>
}

type Params = Record<string, string | string[] | undefined>

function count(v: unknown): number | undefined {
	const n = Number(v)
	return Number.isInteger(n) && n > 0 ? n : undefined
}

export function addressOf(params: Params, query: Record<string, unknown>): Address {
	return {
		task: [params.project, params.workflow, params.task].join('/'),
		label: String(params.label),
		generation: count(query.run),
		attempt: count(query.attempt),
	}
}

export const addressPath = (of: { task: string; label: string }) =>
	'/p/' + [...of.task.split('/'), of.label].map(encodeURIComponent).join('/')

const status = (e: unknown) => (e instanceof ApiError ? e.status : 0)
const said = (e: unknown) => (e instanceof Error ? e.message : '')

async function asked<T>(
	of: Promise<T>,
	absent: (e: unknown) => Absent['absent'] | undefined,
): Promise<{ value: T } | Absent> {
	try {
		return { value: await of }
	} catch (e) {
		const what = absent(e)
		if (!what) throw e
		return { absent: what, text: what === 'instance' ? '' : said(e) }
	}
}

export async function find(of: Address, api: Asks): Promise<Found> {
	const named = await asked(api.resolve(of.task, of.label), e =>
		status(e) === 404 ? 'task' : status(e) === 400 ? 'date' : undefined,
	)
	if (!('value' in named)) return named
	const { id, label = of.label } = named.value
	const there = await asked(api.instance(id), e => (status(e) === 404 ? 'instance' : undefined))
	if (!('value' in there)) return there
	if (!of.generation && !of.attempt) return { id, label, lacks: false }
	const had = attemptsOf((await api.history(id)).items)
	const last = Math.max(0, ...had.map(a => a.generation))
	const it = had.find(
		a => a.generation === (of.generation ?? last) && (of.attempt === undefined || a.attempt === of.attempt),
	)
	return { id, label, generation: it?.generation, attempt: it?.attempt, lacks: !it }
}
