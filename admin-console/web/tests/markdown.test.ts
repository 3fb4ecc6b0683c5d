import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { anchor, blocks, inline, spoken } from '@/domain/markdown'

const manual = readFileSync(new URL('../../../docs/manual.md', import.meta.url), 'utf8')

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
	it('keeps every word of it', () => {
		const bare = (s: string) => s.replace(/[`*|#\s\\-]|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|\[/g, '')
		expect(bare(blocks(manual).map(spoken).join('\n')).length).toBeGreaterThan(bare(manual).length * 0.985)
	})
	it('has every place that pages point to', async () => {
		const ids = new Set(blocks(manual).flatMap(b => (b.kind === 'head' ? [b.id] : [])))
		const pages = import.meta.glob<string>('../src/**/*.vue', { eager: true, query: '?raw', import: 'default' })
		const asked = Object.values(pages).flatMap(s =>
			[...s.matchAll(/<ManualLink at="([^"]+)"|\/help#([\w-]+)'/g)].map(m => m[1] ?? m[2]!),
		)
		expect(asked.filter(a => !ids.has(a))).toEqual([])
		expect(anchor('12 Runner plugins')).toBe('12-runner-plugins')
	})
})
