import { dictionary, type Same } from './dictionary'

export const en = {
	by: 'by {who}',
	'class.data': 'the data it was given',
	'class.killed': 'told to stop',
	'class.machine': 'the machine that ran it',
	'class.resource': 'a resource ran out',
	'class.target': 'its target did not answer or let it in',
	'class.timeout': 'ran or waited too long',
	'class.user': 'the job itself',
	memory: '{n} MB of memory',
	tail: 'Last lines of {stream}',
	title: 'Why it failed',
}
export const zh: Same<typeof en> = {
	by: '操作人：{who}',
	'class.data': '输入数据的问题',
	'class.killed': '被要求停止',
	'class.machine': '运行它的机器的问题',
	'class.resource': '资源不足',
	'class.target': '目标未响应或拒绝访问',
	'class.timeout': '运行或等待超时',
	'class.user': '任务自身的问题',
	memory: '内存 {n} MB',
	tail: '{stream} 的最后几行',
	title: '失败原因',
}
export const w = dictionary(en, zh)
