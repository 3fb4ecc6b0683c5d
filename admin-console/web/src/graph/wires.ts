/* The wires among the cards: where they run, which is under a point, how they look. Colours are tokens. */
import { Board, editSize, type Wire } from './board'
import { common, tokens } from './paint'

const { width: W, height: H } = editSize

const names = {
	...common,
	accentBg: 'accent-bg',
	accentLine: 'accent-line',
	add: 'add-fg',
	addBg: 'add-bg',
	del: 'del-fg',
	delBg: 'del-bg',
	late: 'st-late-edge',
	lateBg: 'st-late-bg',
	lateFg: 'st-late-fg',
	bad: 'st-failed-fg',
	badBg: 'st-failed-bg',
	badEdge: 'st-failed-edge',
	mark: 'mark',
}
export const colours = () => tokens(names)

export abstract class Wired extends Board {
	protected c = colours()

	protected curve(e: Wire) {
		const ax = this.xs[e.from]! + W,
			ay = this.ys[e.from]! + H / 2,
			bx = this.xs[e.to]!,
			by = this.ys[e.to]! + H / 2
		return { ax, ay, bx, by, k: Math.max(28, Math.min(110, Math.abs(bx - ax) / 2)) }
	}
	protected wireAt(px: number, py: number): number {
		const { x, y } = this.toWorld(px, py),
			near = 6 / this.scale
		for (let n = this.wires.length - 1; n >= 0; n--) {
			const { ax, ay, bx, by, k } = this.curve(this.wires[n]!)
			if (
				x < Math.min(ax, bx - k) - near ||
				x > Math.max(bx, ax + k) + near ||
				y < Math.min(ay, by) - near ||
				y > Math.max(ay, by) + near
			)
				continue
			for (let t = 0; t <= 1; t += 0.04) {
				const u = 1 - t,
					qx = u * u * u * ax + 3 * u * u * t * (ax + k) + 3 * u * t * t * (bx - k) + t * t * t * bx,
					qy = u * u * u * ay + 3 * u * u * t * ay + 3 * u * t * t * by + t * t * t * by
				if (Math.hypot(qx - x, qy - y) < near + 2) return n
			}
		}
		return -1
	}
	protected isLit(e: Wire, n: number) {
		return n === this.edge || (this.chosen.size === 1 && (this.chosen.has(e.from) || this.chosen.has(e.to)))
	}

	protected drawWires(x0: number, y0: number, x1: number, y1: number) {
		const { ctx, c } = this,
			thin = this.scale < 0.4 ? 0.55 / this.scale : 1.25,
			arrows = this.scale > 0.3
		const groups = new Map<string, { ink: string; dashed: boolean; wide: number; of: number[] }>()
		this.wires.forEach((e, n) => {
			const lit = this.isLit(e, n),
				ink = e.look === 'added' ? c.add : e.look === 'removed' ? c.del : lit ? c.accent : c.text3,
				dashed = e.dashed || !!e.look
			const ax = this.xs[e.from]! + W,
				ay = this.ys[e.from]! + H / 2,
				bx = this.xs[e.to]!,
				by = this.ys[e.to]! + H / 2
			if (Math.max(bx, ax) + 110 < x0 || Math.min(ax, bx) - 110 > x1 || Math.max(ay, by) < y0 || Math.min(ay, by) > y1)
				return
			const key = dashed ? (lit ? ink + 1 : ink + 2) : lit ? ink + 3 : ink
			let g = groups.get(key)
			if (!g) {
				g = { ink, dashed, wide: lit ? thin * 1.6 : thin, of: [] }
				groups.set(key, g)
			}
			g.of.push(n)
		})
		for (const g of groups.values()) {
			ctx.beginPath()
			for (const n of g.of) {
				const e = this.wires[n]!,
					ax = this.xs[e.from]! + W,
					ay = this.ys[e.from]! + H / 2,
					bx = this.xs[e.to]!,
					by = this.ys[e.to]! + H / 2
				const k = Math.max(28, Math.min(110, Math.abs(bx - ax) / 2))
				ctx.moveTo(ax, ay)
				if (arrows) ctx.bezierCurveTo(ax + k, ay, bx - k, by, bx - 4, by)
				else ctx.lineTo(bx, by)
			}
			ctx.strokeStyle = g.ink
			ctx.lineWidth = g.wide
			ctx.setLineDash(g.dashed ? [5, 4] : [])
			ctx.stroke()
			ctx.setLineDash([])
			if (!arrows) continue
			ctx.beginPath()
			for (const n of g.of) {
				const { bx, by } = this.curve(this.wires[n]!)
				ctx.moveTo(bx - 10, by - 4)
				ctx.lineTo(bx - 4, by)
				ctx.lineTo(bx - 10, by + 4)
			}
			ctx.stroke()
		}
	}

	protected labels(x0: number, y0: number, x1: number, y1: number) {
		const { ctx, c } = this
		ctx.font = `500 11px ${c.font}`
		ctx.textAlign = 'center'
		this.wires.forEach((e, n) => {
			if (!e.label) return
			const { ax, ay, bx, by } = this.curve(e),
				x = (ax + bx) / 2,
				y = (ay + by) / 2
			if (x < x0 || x > x1 || y < y0 || y > y1) return
			const lit = this.isLit(e, n),
				w = ctx.measureText(e.label).width + 14
			ctx.beginPath()
			ctx.roundRect(x - w / 2, y - 9, w, 18, 9)
			ctx.fillStyle = lit ? c.accentBg : c.surface
			ctx.fill()
			ctx.strokeStyle = lit ? c.accentLine : c.line2
			ctx.lineWidth = 1
			ctx.stroke()
			ctx.fillStyle = lit ? c.accent : c.text2
			ctx.fillText(e.label, x, y + 4)
		})
		ctx.textAlign = 'start'
	}

	protected joining(g: { from: number; x: number; y: number; over: number }) {
		const { ctx, c } = this,
			to = this.toWorld(g.x, g.y),
			ax = this.xs[g.from]! + W,
			ay = this.ys[g.from]! + H / 2
		const bx = g.over >= 0 ? this.xs[g.over]! : to.x,
			by = g.over >= 0 ? this.ys[g.over]! + H / 2 : to.y,
			k = Math.max(28, Math.abs(bx - ax) / 2)
		ctx.beginPath()
		ctx.moveTo(ax, ay)
		ctx.bezierCurveTo(ax + k, ay, bx - k, by, bx, by)
		ctx.strokeStyle = c.accent
		ctx.lineWidth = 2
		ctx.stroke()
		ctx.beginPath()
		ctx.arc(bx, by, 5, 0, 7)
		ctx.fillStyle = c.accent
		ctx.fill()
	}
}
