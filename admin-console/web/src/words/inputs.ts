import { dictionary, type Same } from './dictionary'

export const en = {
	none: 'It was given nothing of its own.',
	resolved: 'Parameters, resolved',
	'resolved.hint': 'As version {n} of the workflow, the one in force now, resolves them for this date.',
	'resolved.none': 'The task has no parameters.',
	'resolved.not':
		'The version in force now does not plan this date, or has another task: what its parameters would be is not known.',
	who: 'Resolved values are shown to developers.',
}
export const zh: Same<typeof en> = {
	none: '没有为它单独给定的输入。',
	resolved: '解析后的参数',
	'resolved.hint': '按工作流当前生效的第 {n} 版为此日期解析。',
	'resolved.none': '任务没有参数。',
	'resolved.not': '当前生效的版本不计划此日期，或任务已不同，无法得知其参数值。',
	who: '解析后的值仅开发者可见。',
}
export const w = dictionary(en, zh)
