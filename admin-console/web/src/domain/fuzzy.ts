/* Letters in order; whole words and beginnings of parts count more, length less. */
export function score(want: string, text: string): number {
	const w = want.toLowerCase().trim(),
		s = text.toLowerCase()
	if (!w) return 1
	const whole = s.indexOf(w)
	if (whole >= 0) return 1000 - s.length + (whole === 0 || /[^a-z0-9]/.test(s[whole - 1]!) ? 500 : 0)
	let from = 0,
		points = 0,
		run = 0
	for (const c of w) {
		if (c === ' ') continue
		const found = s.indexOf(c, from)
		if (found < 0) return 0
		run = found === from ? run + 1 : 0
		points += 1 + run * 2 + (found === 0 || /[^a-z0-9]/.test(s[found - 1]!) ? 5 : 0)
		from = found + 1
	}
	return points / (1 + s.length / 40)
}

export function rank<T>(want: string, all: T[], text: (x: T) => string): T[] {
	return all
		.map(x => ({ x, n: score(want, text(x)) }))
		.filter(r => r.n > 0)
		.sort((a, b) => b.n - a.n)
		.map(r => r.x)
}
