import { dictionary, type Same } from './dictionary'

export const en = {
	none: 'It has no inputs of its own.',
	retried: 'Failed, retried',
	resolved: 'Resolved parameters',
	'resolved.hint': 'Resolved for this date with version {n} of the workflow, the current one.',
	'resolved.none': 'The task has no parameters.',
	'resolved.before': "This date is earlier than {begin}, where the task's plan begins: its parameters are not known.",
	'resolved.gone': 'The current version no longer has the task: its parameters are not known.',
	'resolved.unplanned': 'The current version does not plan this date: its parameters are not known.',
	who: 'Only developers see resolved values.',
}
export const zh: Same<typeof en> = {
	none: '没有为它单独给定的输入。',
	retried: '失败，已重试',
	resolved: '解析后的参数',
	'resolved.hint': '按工作流当前生效的第 {n} 版为此日期解析。',
	'resolved.none': '任务没有参数。',
	'resolved.before': '此日期早于任务计划的开始 {begin}，无法得知其参数值。',
	'resolved.gone': '当前生效的版本中已没有该任务，无法得知其参数值。',
	'resolved.unplanned': '当前生效的版本不计划此日期，无法得知其参数值。',
	who: '解析后的值仅开发者可见。',
}
export const w = dictionary(en, zh)
