import { dictionary, type Same } from './dictionary'

export const en = {
	next: 'Next month',
	open: 'Choose a date',
	prev: 'Previous month',
	today: 'today',
}
export const zh: Same<typeof en> = {
	next: '下个月',
	open: '选择日期',
	prev: '上个月',
	today: '今天',
}
export const w = dictionary(en, zh)
