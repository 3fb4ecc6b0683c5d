/* Words of all dictionaries: the same keys and blanks in both languages, each used, none in a template outside them. */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { en } from '@/i18n/en'
import { zh } from '@/i18n/zh'
import { en as editorEn } from '@/editor/en'
import { zh as editorZh } from '@/editor/zh'

/* The words alone: what looks them up knows the browser. */
vi.mock('../src/words/dictionary', () => ({ dictionary: () => () => '' }))

const root = new URL('../src', import.meta.url).pathname
const files = (dir: string): string[] =>
	readdirSync(dir).flatMap(n =>
		statSync(join(dir, n)).isDirectory() ? files(join(dir, n)) : /\.(vue|ts)$/.test(n) ? [join(dir, n)] : [],
	)
const sources = files(root)
	.filter(f => !f.includes('/i18n/') && !f.endsWith('schema.ts'))
	.map(f => [f.slice(root.length + 1), readFileSync(f, 'utf8')] as const)
const blanks = (s: string) =>
	[...s.matchAll(/\{(\w+)\}/g)]
		.map(m => m[1])
		.filter((n, i, all) => all.indexOf(n) === i)
		.sort()

describe('words', () => {
	it('are the same keys with the same blanks in both languages', () => {
		expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort())
		for (const [key, text] of Object.entries(en))
			expect([key, blanks(zh[key as keyof typeof en])]).toEqual([key, blanks(text)])
	})
	it('exist for every key that is used, and every key is used', () => {
		const all = sources.map(([, s]) => s).join('\n')
		const used = new Set(
			[
				...(all + readFileSync(join(root, 'i18n/index.ts'), 'utf8')).matchAll(
					/['"`]([a-z]+(?:\.[a-z0-9-]+)+|ago|in)['"`]/g,
				),
			].map(m => m[1]!),
		)
		const made = [...all.matchAll(/[`']([a-z.]+\.)(?:\$\{|' \+)/g)].map(m => m[1]!)
		const missing = [...all.matchAll(/\bt\(['"]([a-z][\w.-]*)['"]/g)].map(m => m[1]!).filter(k => !(k in en))
		expect(missing).toEqual([])
		expect(Object.keys(en).filter(k => !used.has(k) && !made.some(m => k.startsWith(m)))).toEqual([])
	})
	it('stand in no template outside the dictionary', () => {
		const odd = sources
			.filter(([f]) => f.endsWith('.vue') && !f.startsWith('catalogue/'))
			.flatMap(([f, s]) => {
				const template = s.slice(s.indexOf('<template'))
				return [...template.matchAll(/>([^<>{}]*[A-Za-z]{4,}[^<>{}]*)</g)]
					.map(m => `${f}: ${m[1]!.trim()}`)
					.filter(x => !/: (Sirdar|Ctrl K|English|sirdar |v|简体中文)/.test(x) && !/=>|&&|\?|"/.test(x))
			})
		expect(odd).toEqual([])
	})
	it('have no wide space before Chinese punctuation', () => {
		for (const text of Object.values(zh)) expect(text).not.toMatch(/\s[，。：；！？]|[一-龥][,;!?](?!\w)/)
	})
})

describe('words of the editor', () => {
	it('have the same blanks in both languages, and each is used', () => {
		for (const [key, text] of Object.entries(editorEn))
			expect([key, blanks(editorZh[key as keyof typeof editorEn])]).toEqual([key, blanks(text)])
		for (const text of Object.values(editorZh)) expect(text).not.toMatch(/[一-龥][,;!?](?!\w)/)
		const all = sources
			.filter(([f]) => !/editor\/(en|zh)\.ts/.test(f))
			.map(([, s]) => s)
			.join('\n')
		const made = [...all.matchAll(/te\(\s*`([a-z.]+\.)\$\{/g)].map(m => m[1]!)
		expect(Object.keys(editorEn).filter(k => !all.includes(`'${k}'`) && !made.some(m => k.startsWith(m)))).toEqual([])
	})
})

describe('words of pages', () => {
	const pages = import.meta.glob<{ en: Record<string, string>; zh: Record<string, string> }>(
		['../src/words/*.ts', '!../src/words/dictionary.ts', '!../src/words/commands.ts'] /* coded.ts has these */,
		{ eager: true },
	)
	it('have the same blanks in both languages, and each is used', () => {
		const odd: string[] = []
		for (const [file, { en, zh }] of Object.entries(pages)) {
			const name = file.replace(/^.*\/(\w+)\.ts$/, '$1')
			const all = sources
				.filter(([, s]) => s.includes(`@/words/${name}'`) || s.includes(`'./${name}'`))
				.map(([, s]) => s)
				.join('\n')
			const made = [...all.matchAll(/\bw\s*\.of\(\s*'([a-z.]+)'/g)].map(m => m[1]! + '.')
			for (const [key, text] of Object.entries(en)) {
				expect([name, key, blanks(zh[key] ?? '')]).toEqual([name, key, blanks(text)])
				if (!all.includes(`'${key}'`) && !made.some(m => key.startsWith(m))) odd.push(`${name}: ${key}`)
			}
			for (const text of Object.values(zh)) expect(text).not.toMatch(/\s[，。：；！？]|[一-龥][,;!?](?!\w)/)
		}
		expect(odd).toEqual([])
	})
})
