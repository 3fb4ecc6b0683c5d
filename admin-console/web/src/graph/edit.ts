/* The graph one draws in: cards with ports, moved, joined, marked, seen whole in a small map. Knows no
 * framework and no workflow: cards and edges by number in, what hands did out. Colours are tokens. */
import type { Size } from './layout'
import { path, shorten, tokens } from './paint'
import { Pan } from './pan'

export type Look = '' | 'ghost' | 'added' | 'changed' | 'removed'
export interface Card {
	id: string
	label: string
	note: string
	icon: string
	look: Look
	mark: '' | 'error' | 'warning'
	found: boolean
}
export interface Wire {
	from: number
	to: number
	label: string
	dashed: boolean
	look: Look
}
export interface Hands {
	select: (ids: string[], last: string | null) => void
	wire: (at: number | null) => void
	move: (by: { x: number; y: number }) => void
	connect: (from: string, to: string) => void
	loose: (from: string, at: { x: number; y: number }) => void
	open: (id: string) => void
	blank: (at: { x: number; y: number }) => void
	zoomed: (percent: number) => void
}

export const editSize: Size = { width: 198, height: 50, gapX: 78, gapY: 26 }
const { width: W, height: H } = editSize
const MINI = { w: 132, h: 86, pad: 12 }
const GRID = 10

const names = {
	bg: 'bg',
	surface: 'surface',
	line: 'line',
	line2: 'line-2',
	control: 'control',
	text: 'text',
	text2: 'text-2',
	text3: 'text-3',
	accent: 'accent-fg',
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
	font: 'font',
	mono: 'mono',
}
const colours = () => tokens(names)
const WARN =
	'M8 1.6c.5 0 .9.25 1.15.7l5.4 9.9c.5.9-.1 1.9-1.1 1.9H2.55c-1 0-1.6-1-1.1-1.9l5.4-9.9C7.1 1.85 7.5 1.6 8 1.6zM8 6v3.2M8 11.6v.1'

type Gesture =
	| { kind: 'pan'; x: number; y: number; moved: boolean; blank: boolean }
	| { kind: 'move'; x: number; y: number; dx: number; dy: number; moved: boolean; at: number; add: boolean }
	| { kind: 'join'; from: number; x: number; y: number; over: number }
	| { kind: 'frame'; x0: number; y0: number; x: number; y: number; before: Set<number> }
	| { kind: 'mini' }

export class EditView extends Pan {
	private c = colours()
	private cards: readonly Card[] = []
	private wires: readonly Wire[] = []
	private xs: ArrayLike<number> = []
	private ys: ArrayLike<number> = []
	private box = { x: 0, y: 0, w: 1, h: 1 }
	private hover = -1
	private chosen = new Set<number>()
	private last = -1
	private edge = -1
	private cut = new Map<string, string>()
	private g: Gesture | null = null
	readonly = false

	constructor(
		canvas: HTMLCanvasElement,
		private hands: Hands,
	) {
		super(canvas, 2.5)
		this.on('pointerdown', e => this.down(e))
		this.on('pointermove', e => this.moved(e))
		this.on('pointerup', e => this.up(e))
		this.on('pointercancel', e => {
			this.lift(e)
			this.g = null
			this.paint()
		})
		this.on('pointerleave', () => {
			if (this.hover >= 0) {
				this.hover = -1
				this.paint()
			}
		})
		this.on('dblclick', e => {
			const n = this.at(e.offsetX, e.offsetY)
			if (n >= 0) hands.open(this.cards[n]!.id)
			else if (!this.inMini(e.offsetX, e.offsetY)) hands.blank(this.toWorld(e.offsetX, e.offsetY))
		})
		this.start(() => {
			this.c = colours()
			this.cut.clear()
		})
	}

	show(cards: readonly Card[], wires: readonly Wire[], xs: ArrayLike<number>, ys: ArrayLike<number>, auto = false) {
		const ids = new Set([...this.chosen].map(i => this.cards[i]?.id)),
			last = this.cards[this.last]?.id,
			first = !this.cards.length
		this.cards = cards
		this.wires = wires
		this.xs = xs
		this.ys = ys
		this.chosen = new Set()
		this.last = this.edge = this.hover = -1
		cards.forEach((k, i) => {
			if (ids.has(k.id)) this.chosen.add(i)
			if (k.id === last) this.last = i
		})
		let x0 = Infinity,
			y0 = Infinity,
			x1 = -Infinity,
			y1 = -Infinity
		for (let i = 0; i < cards.length; i++) {
			x0 = Math.min(x0, xs[i]!)
			y0 = Math.min(y0, ys[i]!)
			x1 = Math.max(x1, xs[i]! + W)
			y1 = Math.max(y1, ys[i]! + H)
		}
		this.box = cards.length ? { x: x0, y: y0, w: x1 - x0, h: y1 - y0 } : { x: 0, y: 0, w: 1, h: 1 }
		const there = this.toWorld(24, 24)
		if (first ? cards.length > 1 || x0 < there.x || y0 < there.y : auto && this.fitted) this.fit()
		this.paint()
	}

	select(ids: Iterable<string>, last: string | null, reveal = false) {
		const of = new Set(ids)
		this.chosen = new Set()
		this.last = -1
		this.cards.forEach((k, i) => {
			if (of.has(k.id)) this.chosen.add(i)
			if (k.id === last) this.last = i
		})
		if (reveal && this.last >= 0) this.reveal(this.last)
		this.paint()
	}

	selectWire(at: number | null) {
		this.edge = at ?? -1
		this.paint()
	}
	/* On the page, for tests and for what is put beside a card. */
	place(id: string) {
		const n = this.cards.findIndex(k => k.id === id)
		return n < 0
			? null
			: {
					x: this.ox + (this.xs[n]! + W / 2) * this.scale,
					y: this.oy + (this.ys[n]! + H / 2) * this.scale,
					port: this.ox + (this.xs[n]! + W) * this.scale,
				}
	}

	fit() {
		if (!this.w) return
		const pad = 40,
			s = Math.min((this.w - 2 * pad) / this.box.w, (this.h - 2 * pad - 20) / this.box.h)
		let scale = Math.min(1, Math.max(0.02, s))
		if (scale < 0.45 && this.cards.length < 200) scale = 0.7
		const wide = this.box.w * scale <= this.w - pad
		this.settle(
			scale,
			(wide ? (this.w - this.box.w * scale) / 2 : pad) - this.box.x * scale,
			Math.max(pad, (this.h - 30 - this.box.h * scale) / 2) - this.box.y * scale,
		)
	}

	protected zoomed(percent: number) {
		this.hands.zoomed(percent)
	}

	private reveal(n: number) {
		const x = this.ox + this.xs[n]! * this.scale,
			y = this.oy + this.ys[n]! * this.scale,
			bw = W * this.scale,
			bh = H * this.scale
		if (x < 20) this.ox += 40 - x
		else if (x + bw > this.w - 20) this.ox -= x + bw - this.w + 40
		if (y < 20) this.oy += 40 - y
		else if (y + bh > this.h - 60) this.oy -= y + bh - this.h + 80
		this.fitted = false
	}

	/* The next card by an arrow: along an edge when there is one that way, else the nearest that way. */
	toward(key: string): string | null {
		if (!this.cards.length) return null
		if (this.last < 0) return this.cards[this.nearest(-Infinity, -Infinity, 0, () => true)]!.id
		const a = this.last,
			x = this.xs[a]!,
			y = this.ys[a]!,
			side = key === 'ArrowRight' || key === 'ArrowLeft'
		if (side) {
			const joined = this.wires
				.filter(e => (key === 'ArrowRight' ? e.from : e.to) === a)
				.map(e => (key === 'ArrowRight' ? e.to : e.from))
			if (joined.length)
				return this.cards[joined.reduce((p, q) => (Math.abs(this.ys[q]! - y) < Math.abs(this.ys[p]! - y) ? q : p))]!.id
		}
		const sign = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1
		const n = this.nearest(
			x,
			y,
			side ? 0.35 : 2.5,
			i => i !== a && (side ? (this.xs[i]! - x) * sign > 4 : (this.ys[i]! - y) * sign > 4),
		)
		return n < 0 ? null : this.cards[n]!.id
	}
	private nearest(x: number, y: number, weight: number, fits: (i: number) => boolean) {
		let best = -1,
			least = Infinity
		for (let i = 0; i < this.cards.length; i++) {
			if (!fits(i)) continue
			const d =
				x === -Infinity
					? this.xs[i]! * 4 + this.ys[i]!
					: weight < 1
						? Math.abs(this.xs[i]! - x) * weight + Math.abs(this.ys[i]! - y)
						: Math.abs(this.xs[i]! - x) * weight + Math.abs(this.ys[i]! - y)
			if (d < least) {
				least = d
				best = i
			}
		}
		return best
	}

	/* --- hands --- */

	private at(px: number, py: number): number {
		const { x, y } = this.toWorld(px, py)
		for (let i = this.cards.length - 1; i >= 0; i--)
			if (x >= this.xs[i]! - 6 && x <= this.xs[i]! + W + 6 && y >= this.ys[i]! && y <= this.ys[i]! + H) return i
		return -1
	}
	private onPort(n: number, px: number, py: number) {
		const { x, y } = this.toWorld(px, py),
			r = Math.max(9, 9 / this.scale)
		return Math.hypot(x - this.xs[n]! - W, y - this.ys[n]! - H / 2) <= r
	}
	private curve(e: Wire) {
		const ax = this.xs[e.from]! + W,
			ay = this.ys[e.from]! + H / 2,
			bx = this.xs[e.to]!,
			by = this.ys[e.to]! + H / 2
		return { ax, ay, bx, by, k: Math.max(28, Math.min(110, Math.abs(bx - ax) / 2)) }
	}
	private wireAt(px: number, py: number): number {
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
	private mini() {
		return {
			x: this.w - MINI.w - MINI.pad,
			y: this.h - MINI.h - MINI.pad,
			s: Math.min((MINI.w - 14) / this.box.w, (MINI.h - 14) / this.box.h),
		}
	}
	private get hasMini() {
		return this.cards.length > 4 && this.w > 520 && this.h > 300
	}
	private inMini(x: number, y: number) {
		const m = this.mini()
		return this.hasMini && x >= m.x && y >= m.y && x <= m.x + MINI.w && y <= m.y + MINI.h
	}
	private goMini(px: number, py: number) {
		const m = this.mini(),
			left = m.x + (MINI.w - this.box.w * m.s) / 2,
			top = m.y + (MINI.h - this.box.h * m.s) / 2
		this.ox = this.w / 2 - ((px - left) / m.s + this.box.x) * this.scale
		this.oy = this.h / 2 - ((py - top) / m.s + this.box.y) * this.scale
		this.fitted = false
		this.paint()
	}

	private down(e: PointerEvent) {
		const x = e.offsetX,
			y = e.offsetY
		if (this.touch(e)) {
			this.g = null
			return
		}
		if (this.inMini(x, y)) {
			this.g = { kind: 'mini' }
			this.goMini(x, y)
			return
		}
		const n = this.at(x, y)
		if (n >= 0 && !this.readonly && this.onPort(n, x, y)) this.g = { kind: 'join', from: n, x, y, over: -1 }
		else if (n >= 0)
			this.g = { kind: 'move', x, y, dx: 0, dy: 0, moved: false, at: n, add: e.shiftKey || e.ctrlKey || e.metaKey }
		else if (e.shiftKey) this.g = { kind: 'frame', x0: x, y0: y, x, y, before: new Set(this.chosen) }
		else this.g = { kind: 'pan', x, y, moved: false, blank: true }
	}
	private moved(e: PointerEvent) {
		const x = e.offsetX,
			y = e.offsetY,
			g = this.g
		if (this.pinch(e)) return
		if (!g) {
			const n = this.at(x, y),
				port = n >= 0 && !this.readonly && this.onPort(n, x, y)
			this.canvas.style.cursor = port
				? 'crosshair'
				: n >= 0
					? 'pointer'
					: this.inMini(x, y) || this.wireAt(x, y) >= 0
						? 'pointer'
						: 'grab'
			if (n !== this.hover) {
				this.hover = n
				this.canvas.title = n >= 0 ? this.cards[n]!.label : ''
				this.paint()
			}
			return
		}
		if (g.kind === 'mini') this.goMini(x, y)
		else if (g.kind === 'pan') {
			if (!g.moved && Math.hypot(x - g.x, y - g.y) < 4) return
			this.panBy(x - g.x, y - g.y)
			g.x = x
			g.y = y
			g.moved = true
			this.canvas.style.cursor = 'grabbing'
		} else if (g.kind === 'move') {
			if (!g.moved && Math.hypot(x - g.x, y - g.y) < 4) return
			if (!g.moved && !this.chosen.has(g.at)) {
				this.chosen = new Set([g.at])
				this.last = g.at
				this.tell()
			}
			g.moved = true
			if (this.readonly) return
			g.dx = (x - g.x) / this.scale
			g.dy = (y - g.y) / this.scale
			this.canvas.style.cursor = 'grabbing'
			this.paint()
		} else if (g.kind === 'join') {
			g.x = x
			g.y = y
			g.over = this.at(x, y)
			this.paint()
		} else {
			g.x = x
			g.y = y
			const a = this.toWorld(Math.min(g.x0, x), Math.min(g.y0, y)),
				b = this.toWorld(Math.max(g.x0, x), Math.max(g.y0, y))
			this.chosen = new Set(g.before)
			for (let i = 0; i < this.cards.length; i++)
				if (this.xs[i]! < b.x && this.xs[i]! + W > a.x && this.ys[i]! < b.y && this.ys[i]! + H > a.y) this.chosen.add(i)
			this.paint()
		}
	}

	private up(e: PointerEvent) {
		this.lift(e)
		const g = this.g
		this.g = null
		this.canvas.style.cursor = 'grab'
		if (!g) return
		if (g.kind === 'join') {
			if (g.over >= 0 && g.over !== g.from) this.hands.connect(this.cards[g.from]!.id, this.cards[g.over]!.id)
			else if (g.over < 0) this.hands.loose(this.cards[g.from]!.id, this.toWorld(g.x, g.y - (H / 2) * this.scale))
		} else if (g.kind === 'frame') this.tell()
		else if (g.kind === 'move') {
			if (g.moved) {
				if (!this.readonly) this.hands.move(this.snapped(g))
			} else {
				if (g.add) {
					if (this.chosen.has(g.at)) this.chosen.delete(g.at)
					else this.chosen.add(g.at)
				} else this.chosen = new Set([g.at])
				this.last = this.chosen.has(g.at) ? g.at : ([...this.chosen].pop() ?? -1)
				this.edge = -1
				this.tell()
			}
		} else if (g.kind === 'pan' && !g.moved) {
			const wire = this.wireAt(e.offsetX, e.offsetY)
			this.chosen = new Set()
			this.last = -1
			this.edge = wire
			this.hands.wire(wire < 0 ? null : wire)
			if (wire < 0) this.tell()
		}
		this.paint()
	}
	private snapped(g: { dx: number; dy: number }) {
		const snap = (v: number) => Math.round(v / GRID) * GRID
		return { x: snap(g.dx), y: snap(g.dy) }
	}
	private tell() {
		this.hands.select(
			[...this.chosen].map(i => this.cards[i]!.id),
			this.cards[this.last]?.id ?? null,
		)
	}

	/* --- drawing --- */

	protected draw() {
		const { ctx, c } = this,
			ratio = this.canvas.width / Math.max(1, this.w)
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
		ctx.fillStyle = c.bg
		ctx.fillRect(0, 0, this.w, this.h)
		this.dots()
		const g = this.g,
			moved = g?.kind === 'move' && g.moved && !this.readonly ? this.snapped(g) : null
		const was = [this.xs, this.ys]
		if (moved) {
			this.xs = Float64Array.from(this.xs, (v, i) => (this.chosen.has(i) ? v + moved.x : v))
			this.ys = Float64Array.from(this.ys, (v, i) => (this.chosen.has(i) ? v + moved.y : v))
		}
		const a = this.toWorld(0, 0),
			b = this.toWorld(this.w, this.h)
		ctx.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.ox, ratio * this.oy)
		this.drawWires(a.x, a.y, b.x, b.y)
		const tiny = this.scale < 0.16
		if (tiny) this.specks(a.x, a.y, b.x, b.y)
		for (let i = 0; i < this.cards.length; i++) {
			const x = this.xs[i]!,
				y = this.ys[i]!
			if (x > b.x || y > b.y || x + W < a.x || y + H < a.y || (tiny && this.isPlain(i))) continue
			this.card(i, x, y)
		}
		if (this.scale >= 0.45) this.labels(a.x, a.y, b.x, b.y)
		if (g?.kind === 'join') this.joining(g)
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
		if (g?.kind === 'frame') {
			ctx.fillStyle = c.accentBg
			ctx.globalAlpha = 0.4
			ctx.fillRect(g.x0, g.y0, g.x - g.x0, g.y - g.y0)
			ctx.globalAlpha = 1
			ctx.strokeStyle = c.accent
			ctx.lineWidth = 1
			ctx.strokeRect(g.x0 + 0.5, g.y0 + 0.5, g.x - g.x0, g.y - g.y0)
		}
		if (this.hasMini) this.drawMini()
		;[this.xs, this.ys] = was as [ArrayLike<number>, ArrayLike<number>]
	}

	private isPlain(i: number) {
		const k = this.cards[i]!
		return !k.look && !k.mark && !k.found && i !== this.hover && !this.chosen.has(i)
	}
	/* Cards too small to read, in one path: thousands are on the screen then. */
	private specks(x0: number, y0: number, x1: number, y1: number) {
		const { ctx } = this
		ctx.beginPath()
		for (let i = 0; i < this.cards.length; i++) {
			const x = this.xs[i]!,
				y = this.ys[i]!
			if (x <= x1 && y <= y1 && x + W >= x0 && y + H >= y0 && this.isPlain(i)) ctx.rect(x, y, W, H)
		}
		ctx.fillStyle = this.c.surface
		ctx.fill()
		ctx.strokeStyle = this.c.control
		ctx.lineWidth = 0.6 / this.scale
		ctx.stroke()
	}

	private dots() {
		const step = 20 * this.scale
		if (step < 9) return
		const { ctx } = this
		ctx.fillStyle = this.c.line2
		for (let x = ((this.ox % step) + step) % step; x < this.w; x += step)
			for (let y = ((this.oy % step) + step) % step; y < this.h; y += step) ctx.fillRect(x, y, 1.2, 1.2)
	}

	private isLit(e: Wire, n: number) {
		return n === this.edge || (this.chosen.size === 1 && (this.chosen.has(e.from) || this.chosen.has(e.to)))
	}

	private drawWires(x0: number, y0: number, x1: number, y1: number) {
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

	private labels(x0: number, y0: number, x1: number, y1: number) {
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

	private joining(g: { from: number; x: number; y: number; over: number }) {
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

	private card(i: number, x: number, y: number) {
		const { ctx, c } = this,
			k = this.cards[i]!,
			on = this.chosen.has(i),
			far = this.scale < 0.32
		const ink = k.look === 'added' ? c.add : k.look === 'removed' ? c.del : k.look === 'changed' ? c.late : ''
		if (on) {
			ctx.beginPath()
			ctx.roundRect(x - 4, y - 4, W + 8, H + 8, 11)
			ctx.fillStyle = c.accentBg
			ctx.fill()
		}
		ctx.beginPath()
		ctx.roundRect(x, y, W, H, 8)
		ctx.fillStyle = k.found
			? c.mark
			: k.look === 'added'
				? c.addBg
				: k.look === 'removed'
					? c.delBg
					: k.look === 'changed'
						? c.lateBg
						: k.look === 'ghost'
							? c.bg
							: c.surface
		ctx.fill()
		ctx.strokeStyle = on
			? c.accent
			: ink || (k.mark === 'error' ? c.badEdge : i === this.hover ? c.text3 : k.look === 'ghost' ? c.control : c.line2)
		ctx.lineWidth = (on || ink ? 1.5 : 1) * (far ? 0.7 / this.scale : 1)
		if (k.look === 'ghost' || k.look === 'removed') ctx.setLineDash([4, 3])
		ctx.stroke()
		ctx.setLineDash([])
		if (far) {
			/* Too small for words: its kind of trouble stays to be seen. */
			if (k.mark || ink) {
				ctx.fillStyle = k.mark === 'error' ? c.badEdge : ink || c.late
				ctx.fillRect(x + 10, y + 10, 30, 30)
			}
			return
		}
		ctx.save()
		ctx.translate(x + 11, y + 16)
		ctx.scale(0.75, 0.75)
		ctx.strokeStyle = on ? c.accent : ink && k.look !== 'changed' ? ink : c.text2
		ctx.lineWidth = 1.9
		ctx.lineCap = ctx.lineJoin = 'round'
		ctx.stroke(path(k.icon))
		ctx.restore()
		const room = W - 46 - (k.mark ? 20 : 0)
		ctx.font = `500 12px ${c.mono}`
		ctx.fillStyle = c.text
		const label = this.shorten(k.label, room, 'm')
		ctx.fillText(label, x + 38, y + 22)
		if (k.look === 'removed') ctx.fillRect(x + 38, y + 18, ctx.measureText(label).width, 1)
		ctx.font = `400 11px ${c.font}`
		ctx.fillStyle =
			k.mark === 'error'
				? c.bad
				: k.look === 'added'
					? c.add
					: k.look === 'removed'
						? c.del
						: k.mark
							? c.lateFg
							: c.text3
		ctx.fillText(this.shorten(k.note, room, 'f'), x + 38, y + 38)
		if (k.mark) {
			ctx.save()
			ctx.translate(x + W - 26, y + 17)
			ctx.strokeStyle = k.mark === 'error' ? c.badEdge : c.late
			ctx.lineWidth = 1.5
			ctx.lineCap = 'round'
			ctx.stroke(path(WARN))
			ctx.restore()
		}
		if (k.look !== 'removed') {
			for (const px of [x, x + W]) {
				ctx.beginPath()
				ctx.arc(px, y + H / 2, i === this.hover && px > x && !this.readonly ? 5 : 3.5, 0, 7)
				ctx.fillStyle = i === this.hover && px > x && !this.readonly ? c.accent : c.surface
				ctx.fill()
				ctx.strokeStyle = on || i === this.hover ? c.accent : c.control
				ctx.lineWidth = 1
				ctx.stroke()
			}
		}
	}

	private drawMini() {
		const { ctx, c } = this,
			m = this.mini()
		ctx.beginPath()
		ctx.roundRect(m.x, m.y, MINI.w, MINI.h, 8)
		ctx.fillStyle = c.surface
		ctx.fill()
		ctx.strokeStyle = c.line
		ctx.lineWidth = 1
		ctx.stroke()
		ctx.save()
		ctx.clip()
		const left = m.x + (MINI.w - this.box.w * m.s) / 2,
			top = m.y + (MINI.h - this.box.h * m.s) / 2
		const w = Math.max(1.5, W * m.s),
			h = Math.max(1.5, H * m.s)
		ctx.fillStyle = c.line2
		for (let i = 0; i < this.cards.length; i++)
			if (!this.chosen.has(i))
				ctx.fillRect(left + (this.xs[i]! - this.box.x) * m.s, top + (this.ys[i]! - this.box.y) * m.s, w, h)
		ctx.fillStyle = c.accent
		for (const i of this.chosen)
			ctx.fillRect(left + (this.xs[i]! - this.box.x) * m.s, top + (this.ys[i]! - this.box.y) * m.s, w, h)
		const a = this.toWorld(0, 0),
			b = this.toWorld(this.w, this.h)
		ctx.strokeStyle = c.text3
		ctx.strokeRect(
			left + (a.x - this.box.x) * m.s,
			top + (a.y - this.box.y) * m.s,
			(b.x - a.x) * m.s,
			(b.y - a.y) * m.s,
		)
		ctx.restore()
	}

	/* In the middle, so that prefix and suffix stay. */
	private shorten(label: string, room: number, face: string): string {
		const key = face + Math.round(room) + label
		let t = this.cut.get(key)
		if (t !== undefined) return t
		t = shorten(this.ctx, label, room)
		this.cut.set(key, t)
		return t
	}
}
