/* The manual, read into blocks: what the pages of docs/book use and no more. Pure; the page draws it as text. */

export type Inline =
	| { kind: 'text' | 'code' | 'bold' | 'em'; text: string }
	| { kind: 'link'; text: string; to: string }
	| { kind: 'place'; text: ''; id: string }
export type Block =
	| { kind: 'head'; level: number; text: Inline[]; id: string; plain: string }
	| { kind: 'para'; text: Inline[] }
	| { kind: 'list'; ordered: boolean; items: Inline[][] }
	| { kind: 'code'; text: string }
	| { kind: 'table'; head: Inline[][]; rows: Inline[][][] }

/* As the web shows such files: lower case, blanks to dashes, the rest of the punctuation left out. */
export const anchor = (text: string) =>
	text
		.toLowerCase()
		.replace(/[^\p{L}\p{N}\s_-]/gu, '')
		.trim()
		.replace(/\s/g, '-')

/* A place says itself where to find it: `<a id="name"></a>`, in a heading or before a text. */
const PLACE = /<a id="([^"]+)"><\/a>/
const INLINE = new RegExp(
	String.raw`\`([^\`]+)\`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|(?<!!)\[([^\]]+)\]\(([^)\s]+)\)|` + PLACE.source,
	'g',
)

export function inline(text: string): Inline[] {
	const out: Inline[] = []
	let last = 0
	for (const m of text.matchAll(INLINE)) {
		const [, code, bold, em, link, to, id] = m
		if (m.index > last) out.push({ kind: 'text', text: text.slice(last, m.index) })
		if (code !== undefined) out.push({ kind: 'code', text: code })
		else if (bold !== undefined) out.push({ kind: 'bold', text: bold.replace(/`/g, '') })
		else if (em !== undefined) out.push({ kind: 'em', text: em })
		else if (id !== undefined) out.push({ kind: 'place', text: '', id })
		else out.push({ kind: 'link', text: link!.replace(/`/g, ''), to: to! })
		last = m.index + m[0].length
	}
	if (last < text.length) out.push({ kind: 'text', text: text.slice(last) })
	return out
}

const cells = (line: string) =>
	line
		.trim()
		.replace(/^\||\|$/g, '')
		.split(/(?<!\\)\|/)
		.map(c => inline(c.trim().replace(/\\\|/g, '|')))

/* Lines of one text: a blank between words, none between Chinese characters. */
const WIDE = /[\p{Script=Han}，。；：、？！（）“”…]/u
const joined = (lines: readonly string[]) =>
	lines.reduce((a, b) => (WIDE.test(a.slice(-1)) && WIDE.test(b.slice(0, 1)) ? a + b : `${a} ${b}`))

function heading(line: string): Block {
	const level = /^#+/.exec(line)![0].length,
		own = PLACE.exec(line),
		text = line.slice(level).replace(PLACE, '').trim()
	return { kind: 'head', level, text: inline(text), plain: text.replace(/[`*]/g, ''), id: own?.[1] ?? anchor(text) }
}

function list(lines: readonly string[], ordered: boolean): Block {
	const items: string[][] = []
	for (const l of lines) {
		const own = /^(?:[*-]|\d+\.) (.*)$/.exec(l)
		if (own) items.push([own[1]!])
		else items[items.length - 1]!.push(l.trim())
	}
	return { kind: 'list', ordered, items: items.map(x => inline(joined(x))) }
}

export function blocks(source: string): Block[] {
	const lines = source.split('\n'),
		out: Block[] = []
	let i = 0
	const plain = (l: string) => l !== '' && !/^(#|```|\||[*-] |!\[| {4})/.test(l)
	while (i < lines.length) {
		const l = lines[i]!
		if (l.startsWith('```')) {
			const from = ++i,
				file = /^```\w+ (\S+)$/.exec(l)?.[1]
			if (file) out.push({ kind: 'para', text: [{ kind: 'code', text: file }] })
			while (i < lines.length && !lines[i]!.startsWith('```')) i++
			out.push({ kind: 'code', text: lines.slice(from, i++).join('\n') })
		} else if (/^ {4}\S/.test(l)) {
			const from = i
			while (i < lines.length && (lines[i] === '' || lines[i]!.startsWith('    '))) i++
			out.push({
				kind: 'code',
				text: lines
					.slice(from, i)
					.map(x => x.slice(4))
					.join('\n')
					.trimEnd(),
			})
		} else if (l.startsWith('#')) {
			out.push(heading(l))
			i++
		} else if (l.startsWith('|')) {
			const from = i
			while (i < lines.length && lines[i]!.startsWith('|')) i++
			const rows = lines.slice(from, i)
			out.push({ kind: 'table', head: cells(rows[0]!), rows: rows.slice(2).map(cells) })
		} else if (/^([*-]|\d+\.) /.test(l)) {
			const from = i
			while (i < lines.length && lines[i] !== '' && !/^(#|```|\|)/.test(lines[i]!)) i++
			out.push(list(lines.slice(from, i), /^\d/.test(l)))
		} else if (plain(l)) {
			const from = i
			while (i < lines.length && plain(lines[i]!)) i++
			out.push({ kind: 'para', text: inline(joined(lines.slice(from, i))) })
		} else i++
	}
	return out
}

export const words = (text: readonly Inline[]) => text.map(x => x.text).join('')

/* Everything said in a block, to search in. */
export function spoken(b: Block): string {
	if (b.kind === 'code') return b.text
	if (b.kind === 'head') return b.plain
	if (b.kind === 'para') return words(b.text)
	if (b.kind === 'list') return b.items.map(words).join('\n')
	return [b.head, ...b.rows].map(r => r.map(words).join(' ')).join('\n')
}
