/* The picture of the sign-in page: contour lines of one mountain and a path up it. */
import type { Kind } from '@/domain/states'

export function mountain(w: number, h: number) {
	const c = [w * 0.56, h * 0.6] as const
	const r = (a: number, k: number) =>
		(34 + k * 29) *
		(1 + 0.2 * Math.sin(a * 2 + 0.7) + 0.1 * Math.sin(a * 3 - 0.9 + k * 0.09) + 0.05 * Math.sin(a * 5 + k * 0.23)) *
		(1 + 0.16 * Math.cos(a - 2.1))
	const rings = Array.from({ length: 26 }, (_, k) => {
		let d = ''
		for (let i = 0; i <= 90; i++) {
			const a = (i / 90) * 2 * Math.PI
			d += `${i ? 'L' : 'M'}${(c[0] + r(a, k) * Math.cos(a) * 1.16).toFixed(1)} ${(c[1] + r(a, k) * Math.sin(a) * 0.78).toFixed(1)}`
		}
		return d + 'z'
	})
	const p = (
		[
			[0.1, 0.93],
			[0.3, 0.9],
			[0.22, 0.8],
			[0.48, 0.81],
			[0.36, 0.715],
			[0.6, 0.725],
			[0.475, 0.655],
			[0.62, 0.655],
			[0.555, 0.6],
		] as const
	).map(([x, y]) => [x * w, y * h] as const)
	let path = `M${p[0]}`
	const knots: (readonly [number, number])[] = [p[0]!]
	for (let i = 1; i < p.length - 1; i++) {
		const m = [(p[i]![0] + p[i + 1]![0]) / 2, (p[i]![1] + p[i + 1]![1]) / 2] as const
		path += `Q${p[i]} ${m}`
		knots.push(m)
	}
	path += `L${p[p.length - 1]}`
	knots.push(p[p.length - 1]!)
	const kinds: [number, Kind][] = [
		[0, 'succ'],
		[2, 'succ'],
		[4, 'succ'],
		[5, 'running'],
		[7, 'ready'],
		[8, 'ready'],
	]
	return { w, h, rings, path, stops: kinds.map(([at, kind]) => ({ x: knots[at]![0], y: knots[at]![1], kind })) }
}
