/* Words of the editor: a chunk of their own, both languages complete by type. */
import { fill, type Fill } from '@/i18n'
import { prefs } from '@/stores/prefs'
import { en } from './en'
import { zh } from './zh'

export type Word = keyof typeof en
export type EditorWords = { readonly [K in Word]: string }

export function te(key: Word, args?: Fill): string {
	const text = (prefs.lang === 'zh' ? zh : en)[key]
	return args ? fill(text, args) : text
}
/* For keys made of data. */
export const maybeTe = (key: string): string | undefined =>
	((prefs.lang === 'zh' ? zh : en) as Record<string, string>)[key]
