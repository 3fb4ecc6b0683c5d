import { dictionary, type Same } from './dictionary'

export const en = {
	'wrong.apart': 'Not together: {keys}.',
	'wrong.choice': 'One of: {choices}.',
	'wrong.few': 'At least {n} are wanted.',
	'wrong.form': 'It does not have the form that is wanted.',
	'wrong.length': 'Between {min} and {max} characters.',
	'wrong.missing': '{key} is missing.',
	'wrong.name': '{key} is no name: a letter first, then letters, digits, _ - and dots.',
	near: 'Was {near} meant?',
	'wrong.range': 'A number from {min} to {max}.',
	'wrong.type': 'What is wanted here: {types}.',
	'wrong.unknown': '{key} is not known here.',
	must: 'wanted',
	of: 'values: {values}',
}
export const zh: Same<typeof en> = {
	'wrong.apart': '不能同时出现：{keys}。',
	'wrong.choice': '可以是：{choices}。',
	'wrong.few': '至少要有 {n} 个。',
	'wrong.form': '写法不对。',
	'wrong.length': '长度须为 {min} 到 {max} 个字符。',
	'wrong.missing': '缺少 {key}。',
	'wrong.name': '{key} 不是合法的名称：须以字母开头，由字母、数字、_、- 和点组成。',
	near: '是不是 {near}？',
	'wrong.range': '须为 {min} 到 {max} 的数。',
	'wrong.type': '这里需要：{types}。',
	'wrong.unknown': '这里没有 {key} 这个键。',
	must: '必填',
	of: '可选值：{values}',
}
export const w = dictionary(en, zh)
