import { dictionary, type Same } from './dictionary'

export const en = {
	'clear': 'Clear the selection',
	'export': 'Export as YAML',
	'offline': 'Take offline',
	'offline.fact': 'Nothing new of them starts; what waits is skipped, what runs goes on.',
	'offline.title': 'Take {n} workflow offline|Take {n} workflows offline',
	'online': 'Put online',
	'online.fact': 'They run by their schedules from now on.',
	'online.title': 'Put {n} workflow online|Put {n} workflows online',
	'pick': 'Select {name}',
	'pick.all': 'Select all that are shown',
	'picked': 'workflows',
}
export const zh: Same<typeof en> = {
	'clear': '取消所选',
	'export': '导出为 YAML',
	'offline': '下线',
	'offline.fact': '不再开始新的实例；等待的将被跳过，运行中的继续。',
	'offline.title': '下线 {n} 个工作流',
	'online': '上线',
	'online.fact': '从现在起按各自的调度运行。',
	'online.title': '上线 {n} 个工作流',
	'pick': '选择 {name}',
	'pick.all': '选择列出的全部',
	'picked': '个工作流',
}
export const w = dictionary(en, zh)
