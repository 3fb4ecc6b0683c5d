/* The HTTP API, typed from schema/openapi.yaml. Every failure is an ApiError with what the
 * server said; a 401 tells the session store, wherever it came from. */
import type { Change } from '@/live/reducer'
import type { components } from './schema'

export type Schemas = components['schemas']
export type Instance = Schemas['Instance']
export type Failure = Schemas['Failure']
export type Task = Schemas['Task']
export type Link = Schemas['Link']
export type Graph = Schemas['Graph']
export type Run = Schemas['Run']
export type Runs = Schemas['Runs']
export type Broker = Schemas['Broker']
export type Queues = Schemas['Queues']
export type Pool = Schemas['Pool']
export type Command = Schemas['Command']
export type Item = Schemas['Item']
export type Event = Schemas['Event']
export type Document = Schemas['Document']
export type Server = Schemas['Server'] & { instances?: Record<string, number> }
export type Health = Schemas['Health'] & {
	actors?: { name: string; quiet_ms: number; letters: number; ok: boolean }[]
	store?: { ok: boolean; behind: number; commit_us: number; free_bytes: number | string }
}
export type Statistics = Schemas['Statistics']
export type Session = Schemas['Session']
export type User = Schemas['User']
export type Action = Schemas['Action']
export type TaskType = Schemas['Type']
export type TypeParam = Schemas['TypeParam']
export type TaskPreview = Schemas['TaskPreview']
export type Fire = Schemas['Fire']
export type LinkPreview = Schemas['LinkPreview']
export interface Diagnosis {
	file: string
	line: number
	column: number
	path: string
	code: string
	message: string
	hint: string
}
export interface Applied {
	changes?: {
		kind: string
		name: string
		change: string
		version?: number
		run_dates?: number
		fires_label?: string
		fires_due?: string
		fires_local?: string
		zone?: string
	}[]
	warnings?: Diagnosis[]
	errors?: Diagnosis[]
	preview?: TaskPreview
}
export type Count = { task?: string; owner?: string; count: number; depth?: number; new?: number; running?: number }
export type Preview = Omit<
	Schemas['Preview'],
	'tasks' | 'downstream' | 'states' | 'owners' | 'reasons' | 'refused' | 'sample' | 'warnings'
> & {
	tasks?: Count[]
	downstream?: Count[]
	states?: Record<string, number>
	owners?: Count[]
	reasons?: { code: string; message: string; count: number }[]
	refused?: (Item & { message?: string })[]
	sample?: Instance[]
	warnings?: unknown[]
}
export type InstanceKey = Pick<Change, 'id' | 'task' | 'task_id' | 'run_date' | 'label' | 'part'>
export type Ended = Schemas['EndedWhy']
export type Why = Omit<Schemas['Why'], 'waits_for' | 'skipped_by'> & {
	code?: string
	args?: Record<string, string | number>
	waits_for?: (InstanceKey & { state: string; closed?: boolean })[]
	skipped_by?: (InstanceKey & { state: string })[]
}
export type Page<T> = { items: T[]; cursor: string | null; number: string }

export class ApiError extends Error {
	constructor(
		readonly status: number,
		readonly code: string,
		message: string,
		readonly hint = '',
		readonly place = '',
		readonly requestId = '',
		readonly retry = false,
		readonly details: { errors?: Diagnosis[] } | null = null,
	) {
		super(message)
	}
	get offline() {
		return this.status === 0
	}
	get forbidden() {
		return this.status === 403
	}
}

let csrf = ''
let onExpired: () => void = () => {}

/* `asked`: the session's word when the question went out. What an ended session's late questions
 * are answered says nothing about the one that has begun since. */
function refused(asked: string) {
	if (asked === csrf) onExpired()
}

export function setCsrf(token: string) {
	csrf = token
}
export function whenExpired(run: () => void) {
	onExpired = run
}

/* There a 401 judges what was typed, not the session. */
const judging = ['/login', '/password', '/session/proof', '/me/totp', '/me/totp/confirm', '/me/totp/remove']

export async function send(
	method: string,
	path: string,
	body?: unknown,
	signal?: AbortSignal,
	more: Record<string, string> = {},
): Promise<Response> {
	const headers: Record<string, string> = { ...more }
	if (body !== undefined) headers['Content-Type'] = 'application/json'
	if (method !== 'GET' && csrf) headers['X-CSRF-Token'] = csrf
	const asked = csrf
	let answer: Response
	try {
		answer = await fetch('/api/v1' + path, {
			method,
			headers,
			signal,
			body: body === undefined ? undefined : JSON.stringify(body),
		})
	} catch (e) {
		if (signal?.aborted) throw e
		throw new ApiError(0, 'OFFLINE', 'no connection to the server', '', '', '', true)
	}
	if (answer.ok) return answer
	const text = await answer.text()
	if (answer.status === 401 && !(method === 'POST' && judging.includes(path))) refused(asked)
	const e = failure(answer, text)
	if (e.code === 'PROOF' && (await (await import('@/ui/prove')).prove())) return send(method, path, body, signal, more)
	throw e
}

function failure(answer: Response, text: string): ApiError {
	let said: { error?: Record<string, unknown>; status?: string } = {}
	try {
		said = JSON.parse(text)
	} catch {
		/* a proxy's page: the status must do */
	}
	const e = said.error ?? {}
	return new ApiError(
		answer.status,
		String(e.code ?? answer.status),
		String(e.message ?? answer.statusText ?? text.slice(0, 200)),
		String(e.hint ?? ''),
		String(e.place ?? ''),
		String(e.request_id ?? answer.headers.get('X-Request-Id') ?? ''),
		Boolean(e.retry),
		(e.details as { errors?: Diagnosis[] } | undefined) ?? null,
	)
}

export type Args = Record<string, string | number | boolean | undefined | null>

export function query(args: Args): string {
	const parts = Object.entries(args)
		.filter(([, v]) => v !== undefined && v !== null && v !== '' && v !== false)
		.map(([k, v]) => `${k}=${encodeURIComponent(String(v))}`)
	return parts.length ? '?' + parts.join('&') : ''
}

export const path = (name: string) => name.split('/').map(encodeURIComponent).join('/')

export async function get<T>(where: string, args: Args = {}, signal?: AbortSignal): Promise<T> {
	return (await send('GET', where + query(args), undefined, signal)).json()
}

export async function post<T>(where: string, body: unknown, signal?: AbortSignal): Promise<T> {
	return (await send('POST', where, body, signal)).json()
}

export function requestId(): string {
	return [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, '0')).join('')
}

/* `health` answers 503 with its whole text when something fails: that is an answer. */
async function health(signal?: AbortSignal): Promise<Health> {
	const asked = csrf
	const answer = await fetch('/api/v1/health', { signal }).catch(() => {
		throw new ApiError(0, 'OFFLINE', 'no connection to the server')
	})
	const text = await answer.text()
	let said: Health | undefined
	try {
		said = JSON.parse(text)
	} catch {
		said = undefined
	}
	if (said?.status) return said
	if (answer.status === 401) refused(asked)
	throw failure(answer, text)
}

export interface LogPiece {
	text: string
	offset: number
	next: number
	generation: number
	attempt: number
	end: boolean
}

async function log(id: string, args: Args, signal?: AbortSignal): Promise<LogPiece> {
	const answer = await send('GET', `/instances/${id}/log${query(args)}`, undefined, signal)
	const n = (name: string) => Number(answer.headers.get(name) ?? 0)
	return {
		text: await answer.text(),
		offset: n('X-Log-Offset'),
		next: n('X-Log-Next'),
		generation: n('X-Log-Generation'),
		attempt: n('X-Log-Attempt'),
		end: answer.headers.get('X-Log-End') === 'true',
	}
}

export interface InstanceFilter extends Args {
	limit?: number
	cursor?: string
	order?: string
	sort?: string
	task?: string
	states?: string
	from?: string
	to?: string
	workflow_id?: number
	broker_id?: number
	parts?: boolean
}

export const api = {
	login: (user: string, password: string, code?: string) =>
		post<Session>('/login', { user, password, ...(code && { code }) }),
	ways: () => get<{ ways: { kind: 'password' | 'ldap' | 'oidc'; name?: string; href?: string }[] }>('/login/ways'),
	logout: async () => {
		await send('POST', '/logout') /* a body would be refused, and the session go on */
	},
	session: (s?: AbortSignal) => get<Session>('/session', {}, s),
	preferences: () => get<Schemas['Preferences']>('/preferences'),
	preferencesSet: async (preferences: object, version: number): Promise<Schemas['Preferences']> =>
		(await send('PUT', '/preferences', { preferences }, undefined, { 'If-Match': `"${version}"` })).json(),
	password: (old: string, fresh: string) => post<object>('/password', { old, new: fresh }),
	users: (s?: AbortSignal) => get<Schemas['Users']>('/users', {}, s),
	userSet: (u: Schemas['UserNew']) => post<Command>('/users', u),
	userRemove: async (name: string) => {
		await send('DELETE', '/users/' + encodeURIComponent(name))
	},
	audit: (args: Args, s?: AbortSignal) => get<Page<Action>>('/audit', args, s),
	tokens: (s?: AbortSignal) => get<Schemas['Tokens']>('/tokens', {}, s),
	tokenMake: (name: string, role: string, days?: number) =>
		post<Schemas['Token']>('/tokens', { name, role, ...(days ? { days } : {}) }),
	tokenDrop: async (name: string) => {
		await send('DELETE', '/tokens/' + encodeURIComponent(name))
	},
	server: (s?: AbortSignal) => get<Server>('/server', {}, s),
	health,
	statistics: (days: number, task?: string, s?: AbortSignal) =>
		get<Statistics>('/statistics' + (task ? '/' + path(task) : ''), { days }, s),
	brokers: (s?: AbortSignal) => get<{ brokers: Broker[] }>('/brokers', {}, s),
	queues: (s?: AbortSignal) => get<Queues>('/queues', {}, s),
	pools: (s?: AbortSignal) => get<{ pools: Pool[] }>('/pools', {}, s),
	workflows: (args: Args, s?: AbortSignal) => get<Page<Document>>('/workflows', args, s),
	workflow: (name: string, version?: number, s?: AbortSignal) =>
		get<Document & { versions: Document[] }>('/workflows/' + path(name), { version }, s),
	/* What people may write in documents: it is shaped as JSON Schema, not as our own schema.ts. */
	documentSchema: () => get<object>('/schema/document'),
	types: (s?: AbortSignal) => get<Schemas['Types']>('/types', {}, s),
	/* What a document that is not saved would do; refused like a save. `version`: what it must be at. */
	check: (name: string, text: string, version: number | undefined, preview: object, s?: AbortSignal) =>
		post<Applied>(
			'/workflows',
			{
				documents: [{ name, text, ...(version === undefined ? {} : { version }) }],
				dry_run: true,
				retire: true,
				preview,
			},
			s,
		),
	save: (name: string, text: string, version: number, message: string) =>
		post<Command>('/workflows', {
			documents: [{ name, text, version }],
			retire: true,
			...(message ? { message } : {}),
			request_id: requestId(),
		}),
	calendars: (s?: AbortSignal) => get<Page<Document>>('/calendars', { limit: 200 }, s),
	calendar: (name: string, s?: AbortSignal) =>
		get<Document & { versions: Document[] }>('/calendars/' + path(name), {}, s),
	graph: (name: string, s?: AbortSignal) => get<Graph>('/graph/' + path(name), {}, s),
	runs: (name: string, args: Args, s?: AbortSignal) => get<Runs>('/runs/' + path(name), args, s),
	grid: (name: string, args: Args, s?: AbortSignal) => get<Schemas['Grid']>('/grid/' + path(name), args, s),
	lineage: (name: string, args: Args, s?: AbortSignal) => get<Schemas['Lineage']>('/lineage/' + path(name), args, s),
	tasks: (args: Args, s?: AbortSignal) => get<Page<Task>>('/tasks', args, s),
	links: (task: string, s?: AbortSignal) => get<Schemas['Links']>('/links/' + path(task), {}, s),
	instances: (f: InstanceFilter, s?: AbortSignal) => get<Page<Instance>>('/instances', f, s),
	progress: (ids: string[], s?: AbortSignal) =>
		get<{ items: { id: string; permille: number }[] }>('/progress', { ids: ids.join(',') }, s),
	resolve: (task: string, run_date: string, s?: AbortSignal) =>
		get<Schemas['Resolved']>('/resolve', { task, run_date }, s),
	instance: (id: string, s?: AbortSignal) => get<Instance>('/instances/' + id, {}, s),
	history: (id: string, args: Args, s?: AbortSignal) => get<Page<Event>>(`/instances/${id}/events`, args, s),
	why: (id: string, s?: AbortSignal) => get<Why>(`/instances/${id}/why`, {}, s),
	whyFlow: (name: string, date?: string, s?: AbortSignal) => get<Schemas['Causes']>('/why/' + path(name), { date }, s),
	failures: (args: Args, s?: AbortSignal) => get<Schemas['CauseList']>('/failures', args, s),
	causeInstances: (cause: string, args: Args, s?: AbortSignal) =>
		get<Schemas['CauseInstanceList']>('/failures/' + cause, args, s),
	log,
	logUrl: (id: string, args: Args) => `/api/v1/instances/${id}/log${query(args)}`,
	commands: (args: Args, s?: AbortSignal) => get<Page<Command>>('/commands', args, s),
	command: (id: string, s?: AbortSignal) => get<Command>('/commands/' + id, {}, s),
	items: (id: string, args: Args, s?: AbortSignal) => get<Page<Item>>(`/commands/${id}/items`, args, s),
	commandInstances: (id: string, s?: AbortSignal, since?: number) =>
		get<Schemas['CommandInstances']>(`/commands/${id}/instances`, { since }, s),
	preview: (kind: string, args: object) => post<Preview>('/commands', { kind, args, dry_run: true }),
	ask: (kind: string, args: object, id = requestId()) => post<Command>('/commands', { kind, args, request_id: id }),
}

/* All pages of a list, at most `most` rows. */
export async function whole<T>(one: (cursor?: string) => Promise<Page<T>>, most = 5000): Promise<T[]> {
	const rows: T[] = []
	let cursor: string | undefined
	do {
		const page = await one(cursor)
		rows.push(...page.items)
		cursor = page.cursor ?? undefined
	} while (cursor && rows.length < most)
	return rows
}
