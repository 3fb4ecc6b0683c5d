import { dictionary, type Same } from './dictionary'

export const en = {
	asking: 'Asking the server for a preview…',
	fine: 'The server would accept it.',
	from: 'Their plan begins',
	'from.hint':
		'A date, or a date and a time. Empty: with the first date that is not due yet. Dates due by now come due at once.',
	reason: 'Reason, kept with the command and in the audit',
	'reason.hint': 'Who requested it, which ticket',
	refused: 'The server would refuse:',
}
export const zh: Same<typeof en> = {
	asking: '正在询问服务器会怎样执行…',
	fine: '服务器可以执行。',
	from: '计划从何时开始',
	'from.hint': '日期，或日期加时间。留空：从第一个尚未到点的日期开始。已经到点的日期会立刻到点执行。',
	reason: '原因，随命令保存并记入审计',
	'reason.hint': '谁提出的，哪张工单',
	refused: '服务器会拒绝：',
}
export const w = dictionary(en, zh)
