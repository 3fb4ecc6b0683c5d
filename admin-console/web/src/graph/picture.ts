/* The drawing of the graph one edits: cards, what a hand is at, the small map. Colours are tokens. */
import { editSize, MINI, type Card } from './board'
import { drawState, path, shorten, stateColours } from './paint'
import { colours, Wired } from './wires'

const { width: W, height: H } = editSize
const GRID = 10
const WARN =
	'M8 1.6c.5 0 .9.25 1.15.7l5.4 9.9c.5.9-.1 1.9-1.1 1.9H2.55c-1 0-1.6-1-1.1-1.9l5.4-9.9C7.1 1.85 7.5 1.6 8 1.6zM8 6v3.2M8 11.6v.1'

/* What a hand is at, as far as it shows. */
export type Gesture =
	| { kind: 'pan'; x: number; y: number; moved: boolean; blank: boolean }
	| { kind: 'move'; x: number; y: number; dx: number; dy: number; moved: boolean; at: number; add: boolean }
	| { kind: 'join'; from: number; x: number; y: number; over: number }
	| { kind: 'frame'; x0: number; y0: number; x: number; y: number; before: Set<number> }
	| { kind: 'mini' }

export abstract class Picture extends Wired {
	protected cut = new Map<string, string>()
	protected st = stateColours()
	protected g: Gesture | null = null
	readonly = false

	protected recolour() {
		this.c = colours()
		this.st = stateColours()
		this.cut.clear()
	}
	protected snapped(g: { dx: number; dy: number }) {
		const snap = (v: number) => Math.round(v / GRID) * GRID
		return { x: snap(g.dx), y: snap(g.dy) }
	}

	protected draw() {
		const { ctx, c } = this,
			ratio = this.clear(c.bg)
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

	protected isPlain(i: number) {
		const k = this.cards[i]!
		return !k.look && !k.mark && !k.found && !k.state && i !== this.hover && !this.chosen.has(i)
	}
	/* Cards too small to read, in one path: thousands are on the screen then. */
	protected specks(x0: number, y0: number, x1: number, y1: number) {
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

	protected dots() {
		const step = 20 * this.scale
		if (step < 9) return
		const { ctx } = this
		ctx.fillStyle = this.c.line2
		for (let x = ((this.ox % step) + step) % step; x < this.w; x += step)
			for (let y = ((this.oy % step) + step) % step; y < this.h; y += step) ctx.fillRect(x, y, 1.2, 1.2)
	}

	protected card(i: number, x: number, y: number) {
		const { ctx, c } = this,
			k = this.cards[i]!,
			far = this.scale < 0.32
		const ink = k.look === 'added' ? c.add : k.look === 'removed' ? c.del : k.look === 'changed' ? c.late : ''
		this.outline(i, x, y, ink)
		if (!far) {
			this.face(k, x, y, this.chosen.has(i) ? c.accent : ink && k.look !== 'changed' ? ink : c.text2)
			if (k.look !== 'removed') this.ports(i, x, y)
		} else if (k.state) {
			ctx.fillStyle = this.st[k.state].c
			ctx.fillRect(x + 10, y + 10, 30, 30)
		} else if (k.mark || ink) {
			/* Too small for words: its kind of trouble stays to be seen. */
			ctx.fillStyle = k.mark === 'error' ? c.badEdge : ink || c.late
			ctx.fillRect(x + 10, y + 10, 30, 30)
		}
	}

	private outline(i: number, x: number, y: number, ink: string) {
		const { ctx, c } = this,
			k = this.cards[i]!,
			on = this.chosen.has(i),
			far = this.scale < 0.32
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
	}

	private face(k: Card, x: number, y: number, pen: string) {
		const { ctx, c } = this
		ctx.save()
		ctx.translate(x + 11, y + 16)
		ctx.scale(0.75, 0.75)
		ctx.strokeStyle = pen
		ctx.lineWidth = 1.9
		ctx.lineCap = ctx.lineJoin = 'round'
		ctx.stroke(path(k.icon))
		ctx.restore()
		const room = W - 46 - (k.mark ? 20 : 0) - (k.state ? 22 : 0)
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
		if (k.state) drawState(ctx, k.state, x + W - 26 - (k.mark ? 20 : 0), y + 17, this.st[k.state], c.surface)
		if (k.mark) {
			ctx.save()
			ctx.translate(x + W - 26, y + 17)
			ctx.strokeStyle = k.mark === 'error' ? c.badEdge : c.late
			ctx.lineWidth = 1.5
			ctx.lineCap = 'round'
			ctx.stroke(path(WARN))
			ctx.restore()
		}
	}

	/* Where wires come in and go out. */
	private ports(i: number, x: number, y: number) {
		const { ctx, c } = this
		for (const px of [x, x + W]) {
			ctx.beginPath()
			ctx.arc(px, y + H / 2, i === this.hover && px > x && !this.readonly ? 5 : 3.5, 0, 7)
			ctx.fillStyle = i === this.hover && px > x && !this.readonly ? c.accent : c.surface
			ctx.fill()
			ctx.strokeStyle = this.chosen.has(i) || i === this.hover ? c.accent : c.control
			ctx.lineWidth = 1
			ctx.stroke()
		}
	}

	protected drawMini() {
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
	protected shorten(label: string, room: number, face: string): string {
		const key = face + Math.round(room) + label
		let t = this.cut.get(key)
		if (t !== undefined) return t
		t = shorten(this.ctx, label, room)
		this.cut.set(key, t)
		return t
	}
}
