/* The manual by its sections, and what is found in them: the pages of docs/book in the order of its index. Pure. */
import { blocks, spoken, type Block } from './markdown'

export interface Section {
	id: string
	chapter: string
	plain: string
	level: number
	blocks: Block[]
	said: string
}

/* Pages by their path, as one text: the index says the order. */
export function whole(pages: Readonly<Record<string, string>>): string {
	const named = new Map(Object.entries(pages).map(([path, text]) => [path.replace(/^.*\//, ''), text])),
		index = named.get('index.md') ?? ''
	const order = new Set([...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map(m => m[1]!))
	return [index, ...[...order].map(name => named.get(name) ?? '')].join('\n\n')
}

export function sections(source: string): Section[] {
	const out: Section[] = []
	let chapter = ''
	for (const b of blocks(source)) {
		if (b.kind === 'head') {
			if (b.level === 1) chapter = b.id
			out.push({ id: b.id, chapter, plain: b.plain, level: b.level, blocks: [], said: '' })
		}
		out[out.length - 1]!.blocks.push(b)
	}
	for (const s of out) s.said = s.blocks.map(spoken).join('\n').toLowerCase()
	return out
}

/* The place that a link of a page leads to: a page is the place of its name. '' : outside of the book. */
export function placeOf(to: string): string {
	const m = /^(?:([\w-]+)\.md)?(?:#(.+))?$/.exec(to)
	return m?.[2] ?? m?.[1] ?? ''
}

/* What is looked for: words between blanks, and each run of Chinese characters by itself. */
const wanted = (text: string): string[] =>
	text.toLowerCase().match(/\p{Script=Han}+|[^\s\p{Script=Han}，。；：、？！“”（）]+/gu) ?? []

/* Chinese has no blanks: 备用服务器接管 is said where 备用服务器 and 接管 are. Pieces of one character say nothing. */
function holds(said: string, word: string): boolean {
	if (said.includes(word)) return true
	if (!/^\p{Script=Han}{4,}$/u.test(word)) return false
	for (let n = word.length - 2; n >= 2; n--)
		if (said.includes(word.slice(0, n)) && holds(said, word.slice(n))) return true
	return false
}

/* Enough to look for: two letters, or one Chinese character. */
export const asks = (text: string) => /\p{Script=Han}|\S\s*\S/u.test(text)

/* Sections with every word as it was typed; if there are none, with the parts of every word. */
export function found(all: readonly Section[], text: string): readonly Section[] {
	if (!asks(text)) return all
	const words = wanted(text),
		exact = all.filter(s => words.every(x => s.said.includes(x)))
	return exact.length ? exact : all.filter(s => words.every(x => holds(s.said, x)))
}
