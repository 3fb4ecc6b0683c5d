/* A run that is started by hand: the form as the arguments of `run-start`, and what the server's plan of it comes to. Pure. */
import type { Preview } from '@/api/client'

export const parts = ['all', 'one', 'upto', 'from'] as const

export interface Form {
	workflow: string
	/* What the server reads; '' is the last period, of what has no plan now. */
	date: string
	part: (typeof parts)[number]
	/* Its whole name; counts unless `part` is all. */
	task: string
	/* By name; what is empty stays as the workflow has it. */
	params: Record<string, string>
	/* Others, NAME=VALUE a line. */
	more: string
	/* '' is each task's own. */
	priority: string
	noOp: boolean
}

export const begin = (workflow: string, task?: string): Form => ({
	workflow,
	date: '',
	part: task ? 'one' : 'all',
	task: task ?? '',
	params: {},
	more: '',
	priority: '',
	noOp: false,
})

const lines = (text: string) => text.split('\n').filter(l => l.trim())

/* What was written for each name: of a line without a name or `=` nothing is guessed. */
function given(f: Form): Record<string, string> {
	const out: Record<string, string> = {}
	for (const [name, value] of Object.entries(f.params)) if (value) out[name] = value
	for (const l of lines(f.more)) {
		const at = l.indexOf('=')
		if (at > 0) out[l.slice(0, at).trim()] = l.slice(at + 1)
	}
	return out
}

/* What keeps the server from being asked. */
export function fault(f: Form): '' | 'task' | 'more' {
	if (f.part !== 'all' && !f.task) return 'task'
	return lines(f.more).some(l => l.indexOf('=') < 1 || !l.slice(0, l.indexOf('=')).trim()) ? 'more' : ''
}

export function args(f: Form): Record<string, unknown> {
	const params = given(f),
		date = f.date.trim()
	return {
		selection: f.part === 'one' ? { tasks: [f.task] } : { workflow: f.workflow },
		...(f.part === 'upto' ? { up_to: f.task } : {}),
		...(f.part === 'from' ? { from_task: f.task } : {}),
		...(date ? { date } : {}),
		...(Object.keys(params).length ? { params } : {}),
		...(f.priority ? { priority: Number(f.priority) } : {}),
		...(f.noOp ? { no_op: true } : {}),
	}
}

/* Of all that is named: what starts, what is unfinished and stays, what is refused. */
export function outcome(p: Preview | null) {
	const total = p?.total ?? 0,
		left = p?.unchanged ?? 0,
		refused = p?.refusals ?? 0
	return { total, left, refused, starts: Math.max(0, total - left - refused) }
}

/* The dates of it, in people's words and in order; the sample has the first ones only. */
export const labels = (p: Preview | null): string[] => [
	...new Set([...(p?.sample ?? []), ...(p?.refused ?? [])].flatMap(i => (i.label ? [i.label] : []))),
]
