/* The manual, read into blocks: what docs/manual.md uses and no more. Pure; the page draws it as text. */

export type Inline = { kind: 'text' | 'code' | 'bold'; text: string } | { kind: 'link'; text: string; to: string }
export type Block =
	| { kind: 'head'; level: number; text: Inline[]; id: string; plain: string }
	| { kind: 'para'; text: Inline[] }
	| { kind: 'list'; items: Inline[][] }
	| { kind: 'code'; text: string }
	| { kind: 'table'; head: Inline[][]; rows: Inline[][][] }

/* As the web shows such files: lower case, blanks to dashes, the rest of the punctuation left out. */
export const anchor = (text: string) =>
	text
		.toLowerCase()
		.replace(/[^\p{L}\p{N}\s_-]/gu, '')
		.trim()
		.replace(/\s/g, '-')

export function inline(text: string): Inline[] {
	const out: Inline[] = []
	let last = 0
	for (const m of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g)) {
		if (m.index > last) out.push({ kind: 'text', text: text.slice(last, m.index) })
		if (m[1] !== undefined) out.push({ kind: 'code', text: m[1] })
		else if (m[2] !== undefined) out.push({ kind: 'bold', text: m[2].replace(/`/g, '') })
		else out.push({ kind: 'link', text: m[3]!.replace(/`/g, ''), to: m[4]! })
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

export function blocks(source: string): Block[] {
	const lines = source.split('\n'),
		out: Block[] = []
	let i = 0
	const plain = (l: string) => l !== '' && !/^(#|```|\||[*-] |!\[| {4})/.test(l)
	while (i < lines.length) {
		const l = lines[i]!
		if (l.startsWith('```')) {
			const from = ++i
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
			const level = /^#+/.exec(l)![0].length,
				text = l.slice(level).trim()
			out.push({ kind: 'head', level, text: inline(text), plain: text.replace(/[`*]/g, ''), id: anchor(text) })
			i++
		} else if (l.startsWith('|')) {
			const from = i
			while (i < lines.length && lines[i]!.startsWith('|')) i++
			const rows = lines.slice(from, i)
			out.push({ kind: 'table', head: cells(rows[0]!), rows: rows.slice(2).map(cells) })
		} else if (/^[*-] /.test(l)) {
			const items: string[] = []
			while (i < lines.length && lines[i] !== '' && !/^(#|```|\|)/.test(lines[i]!)) {
				if (/^[*-] /.test(lines[i]!)) items.push(lines[i]!.slice(2))
				else items[items.length - 1] += ' ' + lines[i]!.trim()
				i++
			}
			out.push({ kind: 'list', items: items.map(inline) })
		} else if (plain(l)) {
			const from = i
			while (i < lines.length && plain(lines[i]!)) i++
			out.push({ kind: 'para', text: inline(lines.slice(from, i).join(' ')) })
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
