/* A log that grows: bytes come in pieces, lines come out. Lines longer than LONG are cut, with
 * what is missing told; the whole is in the download. */
export const LONG = 4096

export class LogText {
	lines: string[] = ['']
	bytes = 0

	get length() {
		return this.lines[this.lines.length - 1] === '' ? this.lines.length - 1 : this.lines.length
	}

	add(text: string) {
		if (!text) return
		const parts = text.split('\n')
		const last = this.lines.length - 1
		this.lines[last] = carriage(this.lines[last]! + parts[0]!)
		for (let i = 1; i < parts.length; i++) this.lines.push(carriage(parts[i]!))
	}

	line(n: number): string {
		const text = this.lines[n] ?? ''
		return text.length > LONG ? `${text.slice(0, LONG)} … +${text.length - LONG}` : text
	}

	/* The next line after (or before) `from` that `is` right, around the end; -1: none. */
	find(is: (line: string) => boolean, from: number, step: 1 | -1 = 1): number {
		const n = this.length
		for (let k = 1; k <= n; k++) {
			const at = (((from + k * step) % n) + n) % n
			if (is(this.lines[at]!)) return at
		}
		return -1
	}

	count(is: (line: string) => boolean): number {
		let n = 0
		for (let i = 0; i < this.length; i++) if (is(this.lines[i]!)) n++
		return n
	}
}

/* A progress bar writes one line over and over: what a terminal would show at the end. */
function carriage(line: string): string {
	if (!line.includes('\r')) return line
	const parts = line.split('\r').filter(p => p !== '')
	return parts[parts.length - 1] ?? ''
}
