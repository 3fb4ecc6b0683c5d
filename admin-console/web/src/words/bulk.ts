import { dictionary, type Same } from './dictionary'

export const en = {
	links: 'Dependencies',
	'links.all': 'All count again',
	'links.ignore': 'None counts',
	'links.inside': 'Only on what this redoes',
}
export const zh: Same<typeof en> = {
	links: '依赖',
	'links.all': '全部重新计算',
	'links.ignore': '全部不计',
	'links.inside': '只计本次重跑的实例',
}
export const w = dictionary(en, zh)
