import { dictionary, type Same } from './dictionary'

export const en = {
	do: 'Do it, with a preview first',
	failed: 'what failed',
	logs: 'Log of {name}',
	run: 'Run {name}',
	running: 'what runs',
	why: 'Why: {name}',
	act: '{verb} {name}',
	example: 'Or write what is to be done: redo rollup yesterday',
}
export const zh: Same<typeof en> = {
	do: '执行（先看预览）',
	failed: '失败的实例',
	logs: '{name} 的日志',
	run: '运行 {name}',
	running: '运行中的实例',
	why: '原因：{name}',
	act: '{verb} {name}',
	example: '也可以写要做的事：重跑 rollup 昨天',
}
export const w = dictionary(en, zh)
