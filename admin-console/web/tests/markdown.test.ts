/* The manual in the console: markdown read into blocks, places by their names (each that a page links to is in both
 * manuals), the search, how the Chinese one is punctuated. It reads the pages of docs/book themselves. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { asks, found, placeOf, sections, whole } from '@/domain/manual'
import { anchor, blocks, inline, spoken } from '@/domain/markdown'

const pages = (lang: string) => {
	const folder = new URL(`../../../docs/book/${lang}/`, import.meta.url)
	return Object.fromEntries(readdirSync(folder).map(name => [name, readFileSync(new URL(name, folder), 'utf8')]))
}
const manuals = { en: whole(pages('en')), zh: whole(pages('zh')) }

describe('the manual in the console', () => {
	it('is read into blocks', () => {
		const got = blocks(
			'# One `two`\n\nA **b** and `c`\ngoes on [here](x.md).\n\n* p\n* q\n  r\n\n| a | b |\n|---|---|\n| `x\\|y` | z |\n\n    code\n\n      more\n\n```\nfence\n```\n',
		)
		expect(got.map(b => b.kind)).toEqual(['head', 'para', 'list', 'table', 'code', 'code'])
		expect(got.map(spoken)).toEqual([
			'One two',
			'A b and c goes on here.',
			'p\nq r',
			'a b\nx|y z',
			'code\n\n  more',
			'fence',
		])
		expect(inline('see [a `b`](c.md)')).toEqual([
			{ kind: 'text', text: 'see ' },
			{ kind: 'link', text: 'a b', to: 'c.md' },
		])
	})
	it('knows places by their own name, joins Chinese lines without a blank, counts a numbered list', () => {
		const got = blocks(
			'## <a id="x-y"></a>题 `a`\n\n第一行，\n第二行 b\nc。\n\n1. p\n   q\n2. r\n\n* <a id="z"></a>**b**：*e*\n',
		)
		expect(got[0]).toMatchObject({ kind: 'head', id: 'x-y', plain: '题 a', level: 2 })
		expect(got.map(spoken)).toEqual(['题 a', '第一行，第二行 b c。', 'p q\nr', 'b：e'])
		expect(got[2]).toMatchObject({ kind: 'list', ordered: true })
		expect(got[3]).toMatchObject({
			ordered: false,
			items: [
				[
					{ kind: 'place', id: 'z' },
					{ kind: 'bold', text: 'b' },
					{ kind: 'text', text: '：' },
					{ kind: 'em', text: 'e' },
				],
			],
		})
	})
	it.each(Object.entries(manuals))('keeps every word of it: %s', (_, manual) => {
		const bare = (s: string) => s.replace(/<a id="[^"]+"><\/a>|[`*|#\s\\-]|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|\[/g, '')
		const said = blocks(manual).map(spoken).join('\n')
		expect(bare(said).length).toBeGreaterThan(bare(manual).length * 0.985)
		const text = blocks(manual).filter(b => b.kind !== 'code')
		expect(text.map(spoken).join('\n')).not.toMatch(/<a |\*\*/)
	})
	it.each(Object.entries(manuals))('has every place that pages point to: %s', (_, manual) => {
		const ids = new Set(blocks(manual).flatMap(b => (b.kind === 'head' ? [b.id] : [])))
		const pages = import.meta.glob<string>('../src/**/*.vue', { eager: true, query: '?raw', import: 'default' })
		const asked = Object.values(pages).flatMap(s =>
			[...s.matchAll(/<ManualLink at="([^"]+)"|\/help#([\w-]+)'/g)].map(m => m[1] ?? m[2]!),
		)
		expect(asked.filter(a => !ids.has(a))).toEqual([])
		expect(anchor('12 Runner plugins')).toBe('12-runner-plugins')
		const led = blocks(manual)
			.flatMap(b => JSON.stringify(b).match(/"to":"[^"]+"/g) ?? [])
			.map(m => placeOf(m.slice(6, -1)))
		const places = new Set([...ids, ...[...manual.matchAll(/<a id="([^"]+)"/g)].map(m => m[1]!)])
		expect(led.filter(p => p && !places.has(p))).toEqual([])
	})
	it('is searched by words, and Chinese by its characters', () => {
		const en = sections(manuals.en),
			zh = sections(manuals.zh),
			ids = (all: readonly { id: string }[]) => all.map(s => s.id)
		expect(asks('x')).toBe(false)
		expect(asks('池')).toBe(true)
		expect(found(en, ' ')).toHaveLength(en.length)
		expect(ids(found(en, 'quarantine plugin'))).toContain('versions-of-a-plugin')
		expect(ids(found(zh, '解除隔离'))).toContain('versions-of-a-plugin')
		expect(ids(found(zh, '日历顺移'))).toEqual(['calendars'])
		expect(ids(found(zh, '备用服务器接管'))).toContain('servers')
		expect(ids(found(zh, '补数--dependencies'))).toContain('operations')
		expect(found(zh, '池').length).toBeGreaterThan(2)
		expect(found(zh, '没有这样的词汇').length).toBe(0)
	})
	it('is written in full-width punctuation where it is Chinese', () => {
		const odd = blocks(manuals.zh)
			.filter(b => b.kind !== 'code')
			.map(spoken)
			.join('\n')
			.split('\n')
			.filter(l => /\s[，。；：、？！]|[一-龥][,;:?!](?!\w)|[一-龥][()]/.test(l))
		expect(odd).toEqual([])
	})
})
