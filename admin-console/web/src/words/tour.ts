import { dictionary, type Same } from './dictionary'

export const en = {
	back: 'Back',
	done: 'Done',
	end: 'End the tour',
	next: 'Next',
	of: 'Step {n} of {all}',
	offer: 'New here? Six steps show where things are.',
	'offer.no': 'No, thank you',
	'offer.yes': 'Take the tour',
	title: 'Tour',
	'step.home': 'Home: what needs you',
	'step.home.text':
		'What failed and why, what is late, what runs and what comes next, of your tasks or of a project. A failure shows its cause at once; each figure leads to its list.',
	'step.flows': 'Workflows: what runs when',
	'step.flows.text':
		'Every workflow with its last runs. “Run…” starts one by hand, with a date and parameters, after a preview. A new one is drawn, listed or written as YAML: the same document.',
	'step.instances': 'Instances: one search for all of them',
	'step.instances.text':
		'An instance is a task for one date. Search by state, task or date; tick rows, or take the whole search, and redo, kill or freeze them. The server shows first what it would do.',
	'step.situation': 'Situation: how it is as a whole',
	'step.situation.text':
		'Queues by gate, the oldest that wait, throughput, brokers. When something holds everything up, this page says where.',
	'step.palette': 'Ctrl K: go anywhere, or say what is to be done',
	'step.palette.text':
		'Write a name to go there, or a sentence: “redo rollup yesterday”, “why rollup 2026-11-03”. Nothing happens before you have seen the preview. “?” shows all keys.',
	'step.help': 'The manual is here',
	'step.help.text':
		'First fifteen minutes, how do I…, a guide for operators, coming from other schedulers. Pages link to the passage that explains them. This tour starts again from here.',
}
export const zh: Same<typeof en> = {
	back: '上一步',
	done: '完成',
	end: '结束导览',
	next: '下一步',
	of: '第 {n} 步，共 {all} 步',
	offer: '第一次来？六步看清各处在哪里。',
	'offer.no': '不用了',
	'offer.yes': '开始导览',
	title: '导览',
	'step.home': '首页：需要您处理的',
	'step.home.text':
		'哪些失败了、为什么，哪些晚了，正在运行什么，接下来是什么；可只看自己的任务或某个项目。失败直接显示原因，每个数字都通向其列表。',
	'step.flows': '工作流：何时运行什么',
	'step.flows.text':
		'所有工作流及其最近的运行。“运行…”按日期和参数手工启动一次，先看预览。新工作流可以画、可以列表、也可以写 YAML：都是同一份文档。',
	'step.instances': '实例：一处搜索全部',
	'step.instances.text':
		'实例是任务的某一个日期。按状态、任务、日期搜索；勾选几行或整个搜索结果，重跑、终止或冻结。服务器先显示会做什么。',
	'step.situation': '态势：总体情况',
	'step.situation.text': '各道关口的排队、等得最久的、吞吐量、broker。有什么卡住了全局，这一页会指出在哪里。',
	'step.palette': 'Ctrl K：去任何地方，或写下要做的事',
	'step.palette.text':
		'写名称即可前往，也可以写一句话：“重跑 rollup 昨天”“为什么 rollup 2026-11-03”。看过预览之前什么都不会发生。按“?”查看全部快捷键。',
	'step.help': '手册在这里',
	'step.help.text':
		'最初十五分钟、怎样做、运维指南、从其他调度器迁移。各页面都链接到解释它的段落。导览可以从这里再次开始。',
}
export const w = dictionary(en, zh)
