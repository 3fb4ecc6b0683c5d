/* Text of a job's log: escape sequences become runs of one look, other control characters go. */

export interface Piece {
	text: string
	look: string
}

const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

interface Pen {
	fg: string
	bold: boolean
	dim: boolean
	underline: boolean
}

const plain = (): Pen => ({ fg: '', bold: false, dim: false, underline: false })

function look(pen: Pen): string {
	return [pen.fg && 'ansi-' + pen.fg, pen.bold && 'ansi-bold', pen.dim && 'ansi-dim', pen.underline && 'ansi-underline']
		.filter(Boolean)
		.join(' ')
}

function apply(pen: Pen, codes: string) {
	const list = codes === '' ? [0] : codes.split(/[;:]/).map(Number)
	for (let i = 0; i < list.length; i++) {
		const c = list[i]!
		if (c === 0) Object.assign(pen, plain())
		else if (c === 1) pen.bold = true
		else if (c === 2) pen.dim = true
		else if (c === 4) pen.underline = true
		else if (c === 22) pen.bold = pen.dim = false
		else if (c === 24) pen.underline = false
		else if (c === 39) pen.fg = ''
		else if (c >= 30 && c <= 37) pen.fg = names[c - 30]!
		else if (c >= 90 && c <= 97) pen.fg = names[c - 90]!
		else if (c === 38 || c === 48) {
			const skip = list[i + 1] === 5 ? 2 : list[i + 1] === 2 ? 4 : 1
			if (c === 38 && list[i + 1] === 5 && list[i + 2]! < 16) pen.fg = names[list[i + 2]! % 8]!
			i += skip
		}
	}
}

const escape = /\x1b\[([0-9;:]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f]/g

export function pieces(line: string): Piece[] {
	const out: Piece[] = []
	const pen = plain()
	let from = 0
	for (const found of line.matchAll(escape)) {
		if (found.index > from) out.push({ text: line.slice(from, found.index), look: look(pen) })
		if (found[2] === 'm') apply(pen, found[1]!)
		from = found.index + found[0].length
	}
	if (from < line.length || !out.length) out.push({ text: line.slice(from), look: look(pen) })
	return out
}

export const bare = (line: string) => line.replace(escape, '')

const bad = /\b(error|fatal|exception|traceback|panic|failed|failure|critical)\b/i
const hint = /\b(warn(ing)?|deprecated|retry(ing)?)\b/i

export type Level = 'error' | 'warning' | ''

/* How loud a line is, by its words: for "next error" and its tint. */
export function level(line: string): Level {
	const text = bare(line)
	if (bad.test(text) && !/\b(0|no) (errors?|failures?|failed)\b/i.test(text)) return 'error'
	return hint.test(text) ? 'warning' : ''
}
