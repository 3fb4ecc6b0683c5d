/* A command as a sentence: what was done to what, of which dates, and why, from its kind and arguments. What the server wrote is read, nothing
 * is asked for; numbers of instances are no names, so they are counted. Pure. */

export interface Deed {
	/* A kind of command, or of a row of the audit ("save workflow"). */
	kind: string
	/* Tasks, a workflow, a document, a person: as they are called. */
	names: string[]
	more: number
	/* Of instances that are named by number alone. */
	count: number
	/* As it was written; '' is none. */
	dates: string
	states: string[]
	why: string
}

const SHOWN = 2
type Plain = Record<string, unknown>
const record = (v: unknown): v is Plain => typeof v === 'object' && v !== null && !Array.isArray(v)
const texts = (v: unknown): string[] => (Array.isArray(v) ? v.filter(x => typeof x === 'string') : [])
const text = (v: unknown) => (typeof v === 'string' || typeof v === 'number' ? String(v) : '')

function read(args: string): Plain {
	try {
		const got: unknown = JSON.parse(args || '{}')
		return record(got) ? got : {}
	} catch {
		return {}
	}
}

/* Members of other commands that name what they are about, the likeliest first. */
const named = [
	'name',
	'user',
	'group',
	'pool',
	'channel',
	'rule',
	'list',
	'oncall',
	'server',
	'broker',
	'peer',
	'plugin',
	'type',
	'project',
	'workflow',
	'token',
	'app',
	'node',
	'level',
]

function datesOf(a: Plain, s: Plain): string {
	const dates = texts(s.dates)
	if (dates.length) return dates.slice(0, 3).join(', ') + (dates.length > 3 ? ' …' : '')
	const [from, to] = [text(s.from), text(s.to)]
	if (from || to) return from === to ? from : `${from}..${to}`
	return text(a.date)
}

function namesOf(a: Plain, s: Plain): string[] {
	const tasks = texts(s.tasks)
	if (tasks.length) return tasks
	if (text(s.workflow)) return [text(s.workflow)]
	if (Array.isArray(a.documents))
		return a.documents
			.filter(record)
			.map(d => text(d.name).replace(/\.ya?ml$/, ''))
			.filter(Boolean)
	const key = named.find(k => text(a[k]))
	return key ? [text(a[key])] : []
}

/* `object`: what a row of the audit says it is about; of a command that is its request's number, which is no name. */
export function deedOf(kind: string, args: string, object = ''): Deed {
	const a = read(args),
		s = record(a.selection) ? a.selection : {},
		/* Of a document's row the object is its name. */
		names = kind.startsWith('save ') && object ? [object] : namesOf(a, s),
		rows = Array.isArray(s.instances) ? s.instances.filter(record) : [],
		of = [...new Set(rows.map(x => text(x.task)).filter(Boolean))]
	const all = names.length ? names : of
	return {
		kind,
		names: all.slice(0, SHOWN),
		more: Math.max(0, all.length - SHOWN),
		count: of.length ? 0 : rows.length,
		dates:
			datesOf(a, s) ||
			(rows.length && of.length ? [...new Set(rows.map(x => text(x.run_date)))].slice(0, 3).join(', ') : ''),
		states: texts(s.states),
		why: text(a.message) || text(a.reason),
	}
}
