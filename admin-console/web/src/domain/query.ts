/* The query bar of instances: words `key:value` and free text, in the URL as `q`. The words are
 * those of the API and those of the screen. What it says goes to the server as it is; nothing is
 * filtered here. */
import { families, states } from './states'

export interface Query {
	states: string[]
	task: string
	from: string
	to: string
	broker: string
	parts: boolean
	problems: string[]
	/* words after state: that are no state */ unstated: string[]
}

const aliases: Record<string, string[]> = {
	waiting: ['Ready'],
	queued: ['DependenceFinish'],
	running: ['Running'],
	succeeded: ['Succ'],
	success: ['Succ'],
	retry: ['Failed'],
	failed: ['StopSchedule', 'Failed'],
	killing: ['WaitKill', 'Killing'],
	killed: ['Killed'],
	hanged: ['Hanged'],
	skipped: ['Skipped'],
	test: ['Rough'],
	等待: ['Ready'],
	排队: ['DependenceFinish'],
	运行中: ['Running'],
	成功: ['Succ'],
	失败: ['StopSchedule', 'Failed'],
	终止中: ['WaitKill', 'Killing'],
	已终止: ['Killed'],
	挂死: ['Hanged'],
	已跳过: ['Skipped'],
	trouble: families.trouble,
	open: families.open,
}

function stateWords(value: string, problems: string[]): string[] {
	const out: string[] = []
	for (const word of value.split(',').filter(Boolean)) {
		/* "Failed" as it is stored is one that will retry; "failed" is what people call failed. */
		const stored =
			states.find(s => s === word) ??
			(aliases[word.toLowerCase()] ? undefined : states.find(s => s.toLowerCase() === word.toLowerCase()))
		const found = stored ? [stored] : aliases[word.toLowerCase()]
		if (found) out.push(...found)
		else problems.push(word)
	}
	return [...new Set(out)]
}

/* The words after `state:` that people read: those of the screen, then what stands for several. */
export const stateNames = [
	'waiting',
	'queued',
	'running',
	'succeeded',
	'retry',
	'failed',
	'killing',
	'killed',
	'hanged',
	'skipped',
	'test',
	'trouble',
	'open',
]

const DAY = 86_400_000

/* `2h`, `3d`, a date, or an instant. */
export function since(value: string, now: number): string {
	const ago = /^(\d+)(m|h|d|w)$/.exec(value)
	if (!ago) return value
	const unit = { m: 60_000, h: 3_600_000, d: DAY, w: 7 * DAY }[ago[2] as 'm' | 'h' | 'd' | 'w']
	return new Date(now - Number(ago[1]) * unit).toISOString().replace(/\.\d+Z/, 'Z')
}

const dateLike = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?)?$/

export function parse(text: string, now = Date.now()): Query {
	const q: Query = { states: [], task: '', from: '', to: '', broker: '', parts: false, problems: [], unstated: [] }
	const free: string[] = []
	const dateOf = (value: string) => {
		const at = since(value, now)
		if (!dateLike.test(at)) {
			q.problems.push(value)
			return ''
		}
		return at
	}
	for (const word of text.trim().split(/\s+/).filter(Boolean)) {
		const colon = /[:：]/.exec(word)
		const key = colon ? word.slice(0, colon.index).toLowerCase() : ''
		const value = colon ? word.slice(colon.index + 1) : ''
		if (key === 'state' || key === '状态') q.states.push(...stateWords(value, q.unstated))
		else if (key === 'task' || key === '任务') q.task = value
		else if (key === 'workflow' || key === '工作流') q.task = value.replace(/\/?\*?$/, '') + '/*'
		else if (key === 'since' || key === 'from' || key === '起') q.from = dateOf(value)
		else if (key === 'until' || key === 'to' || key === '止') q.to = dateOf(value)
		else if (key === 'date' || key === '日期') {
			q.from = dateOf(value)
			q.to = q.from
		} else if (key === 'broker') q.broker = value
		else if (key === 'parts') q.parts = value !== 'no'
		else if (colon) q.problems.push(word)
		else free.push(word)
	}
	if (free.length && !q.task)
		q.task = free[0]!.includes('*') || free[0]!.split('/').length === 3 ? free[0]! : free[0]! + '*'
	if (free.length > 1) q.problems.push(...free.slice(1))
	q.states = [...new Set(q.states)]
	return q
}

/* The selection of a command for the whole query; undefined: it has to name tasks first. */
export function selection(q: Query): Record<string, unknown> | undefined {
	if (!q.task || q.broker) return undefined
	const star = q.task.endsWith('*')
	if (star && !/^[^/]+\/[^/]+\/\*$/.test(q.task)) return undefined
	const out: Record<string, unknown> = { tasks: [q.task] }
	if (q.states.length) out.states = q.states
	if (q.from) out.from = q.from
	if (q.to) out.to = q.to
	/* Tasks alone would be the tasks themselves: rows of every state are meant. */
	if (!q.states.length && !q.from && !q.to) out.states = [...states]
	return out
}
