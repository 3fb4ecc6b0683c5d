/* Words of one page, in a chunk of its own: both languages beside each other, complete by type.
 *
 *   export const en = { 'title': 'Nodes' }
 *   export const zh: Same<typeof en> = { 'title': '节点' }
 *   export const w = dictionary(en, zh)
 *
 * `{name}` is filled in, "one|many" chooses by `n`, as in i18n. */
import { fill, type Fill } from '@/i18n'
import { prefs } from '@/stores/prefs'

export type Same<W> = { readonly [K in keyof W]: string }

export function dictionary<W extends Record<string, string>>(en: W, zh: Same<W>) {
	const words = () => (prefs.lang === 'zh' ? zh : en)
	function w(key: keyof W & string, args?: Fill): string {
		const text = words()[key]
		return args ? fill(text, args) : text
	}
	/* For keys made of data: what it was made of when there is none. */
	w.of = (group: string, data: string): string => (words() as Record<string, string>)[`${group}.${data}`] ?? data
	return w
}
