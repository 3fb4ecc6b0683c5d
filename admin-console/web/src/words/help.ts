import { dictionary, type Same } from './dictionary'

export const en = {
	contents: 'Contents',
	find: 'Find in the manual',
	found: '{n} match|{n} matches',
	none: 'No match in the manual.',
}
export const zh: Same<typeof en> = {
	contents: '目录',
	find: '在手册中查找',
	found: '{n} 处',
	none: '手册中没有。',
}
export const w = dictionary(en, zh)
