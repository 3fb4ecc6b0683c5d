/* Words in two languages, complete by type. A text is looked up when it is drawn, so that a switch of
 * language redraws. `{name}` is filled in; "one|many" chooses by `n`. */
import { ref, shallowRef, watch } from 'vue'
import { prefs, type Lang } from '@/stores/prefs'
import type { Units } from '@/domain/time'
import type { en } from './en'

export type Key = keyof typeof en
export type Words = { readonly [K in Key]: string }

const words = shallowRef<Words>({} as Words)
export const ready = ref(false)

const load: Record<Lang, () => Promise<Words>> = {
	en: () => import('./en').then(m => m.en),
	zh: () => import('./zh').then(m => m.zh),
}

async function use(lang: Lang) {
	const got = await load[lang]()
	if (prefs.lang !== lang) return
	words.value = got
	ready.value = true
}

watch(() => prefs.lang, use)
export const begin = () => use(prefs.lang)

export type Fill = Record<string, string | number | null | undefined>

export function fill(text: string, args: Fill = {}): string {
	if (text.includes('|') && 'n' in args) {
		const [one, many] = text.split('|')
		text = (Number(args.n) === 1 ? one : many) ?? text
	}
	return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
		const v = args[name]
		return v === undefined || v === null ? whole : typeof v === 'number' ? number(v) : v
	})
}

export function t(key: Key, args?: Fill): string {
	const text = words.value[key] ?? key
	return args ? fill(text, args) : text
}

/* For keys made of data: undefined when there is none. */
export function maybe(key: string): string | undefined {
	return (words.value as Record<string, string>)[key]
}

export const numbers = new Intl.NumberFormat('en-US')
export const number = (n: number) => numbers.format(n)
export const units = (): Units => ({
	d: t('unit.d'),
	h: t('unit.h'),
	min: t('unit.min'),
	s: t('unit.s'),
	ms: t('unit.ms'),
})
