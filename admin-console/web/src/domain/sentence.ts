/* What a person writes to have something done: `redo rollup yesterday`, `重跑 rollup 昨天`. A verb, a name, and a date, which only
 * the server reads: it is handed on as it was written. Pure. */
import { rank } from './fuzzy'

export type Verb = 'redo' | 'run' | 'kill' | 'freeze' | 'unfreeze' | 'force-success' | 'skip' | 'why' | 'logs'

/* Longer ones first: what begins with one that is shorter is meant. */
const verbs: [string, Verb][] = [
	['force success', 'force-success'],
	['force-success', 'force-success'],
	['unfreeze', 'unfreeze'],
	['freeze', 'freeze'],
	['redo', 'redo'],
	['start', 'run'],
	['run', 'run'],
	['kill', 'kill'],
	['skip', 'skip'],
	['why', 'why'],
	['logs', 'logs'],
	['log', 'logs'],
	['置成功', 'force-success'],
	['重跑', 'redo'],
	['运行', 'run'],
	['启动', 'run'],
	['终止', 'kill'],
	['解冻', 'unfreeze'],
	['冻结', 'freeze'],
	['跳过', 'skip'],
	['为什么', 'why'],
	['为何', 'why'],
	['原因', 'why'],
	['日志', 'logs'],
]
/* Words between the parts, which say nothing. */
const FILL = /^(?:(?:of|for|on|at|in|the|from)\s+|的\s*)+/i
const latin = /^[a-z]/i

export interface Sentence {
	verb: Verb
	name: string
	/* As it was written; '' when none was. */
	date: string
}

/* Undefined: it is no sentence, but what is looked for. */
export function sentenceOf(text: string): Sentence | undefined {
	const all = text.trim()
	for (const [word, verb] of verbs) {
		if (!all.toLowerCase().startsWith(word)) continue
		const rest = all.slice(word.length)
		if (latin.test(word) && rest && !/^\s/.test(rest)) continue
		const [, name = '', date = ''] = /^(\S*)\s*(.*)$/s.exec(rest.trim().replace(FILL, ''))!
		return name ? { verb, name, date: date.trim().replace(FILL, '') } : undefined
	}
	return undefined
}

export interface Named {
	name: string
	kind: 'workflow' | 'task'
}
const MOST = 5
const last = (name: string) => name.slice(name.lastIndexOf('/') + 1)
const tasksOnly: Verb[] = ['why', 'logs', 'skip', 'force-success']
/* Without a date they name nothing. */
export const dated: readonly Verb[] = ['skip', 'force-success', 'why', 'logs']

/* Whom it can mean, the likeliest first: who is called just so, then by likeness. */
export function meant(s: Sentence, all: readonly Named[]): Named[] {
	const want = s.name.toLowerCase(),
		may = all.filter(n => n.kind === 'task' || !tasksOnly.includes(s.verb))
	const just = may.filter(n => n.name.toLowerCase() === want || last(n.name).toLowerCase() === want)
	const like = rank(
		s.name,
		may.filter(n => !just.includes(n)),
		n => n.name,
	)
	return [...just, ...like].slice(0, just.length ? Math.max(just.length, MOST) : MOST)
}

/* What a command takes to mean it. Without a date: what runs, or what failed; a freeze is of the task itself. */
export function selectionOf(s: Sentence, of: Named): Record<string, unknown> {
	const what = of.kind === 'task' ? { tasks: [of.name] } : { workflow: of.name }
	if (s.date) return { ...what, dates: [s.date] }
	if (s.verb === 'redo') return { ...what, states: ['StopSchedule', 'Killed'] }
	if (s.verb === 'kill') return { ...what, states: ['Running'] }
	return what
}
