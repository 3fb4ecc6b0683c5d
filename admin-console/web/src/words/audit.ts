import { dictionary, type Same } from './dictionary'

export const en = {
	args: 'Request',
	broken: 'Row {id} does not match its hash: it was altered. Run `sirdar audit verify`.',
	'chain.filtered': 'Filtered: the hash chain is checked only over all rows.',
	diff: 'Before and after',
	'diff.first': 'The first version',
	'diff.none': 'Only texts of workflows and calendars keep versions; the request is above.',
	'diff.same': 'The text is the same.',
	missing: 'A row before {id} is missing. Run `sirdar audit verify`.',
	proved: '{n} row verified: each hash includes the one before|{n} rows verified: each hash includes the one before',
	version: 'v{from} to v{to}',
}
export const zh: Same<typeof en> = {
	args: '请求内容',
	broken: '第 {id} 行与其哈希不符：之后被改过。请运行 `sirdar audit verify`。',
	'chain.filtered': '已筛选：只有在显示全部行时才校验链条。',
	diff: '修改前后',
	'diff.first': '第一个版本',
	'diff.none': '只有工作流和日历的文本按版本保存；请求内容见上。',
	'diff.same': '文本相同。',
	missing: '第 {id} 行之前缺少一行。请运行 `sirdar audit verify`。',
	proved: '{n} 行已校验：每行的哈希都包含上一行',
	version: 'v{from} 到 v{to}',
}
export const w = dictionary(en, zh)
