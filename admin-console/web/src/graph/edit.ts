/* The graph one draws in: cards with ports, moved, joined, marked, seen whole in a small map. Knows no
 * framework and no workflow: cards and edges by number in, what hands did out. */
import { editSize, MINI } from './board'
import { Picture } from './picture'

const { width: W, height: H } = editSize

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

export class EditView extends Picture {
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
		this.on('dblclick', e => {
			const n = this.at(e.offsetX, e.offsetY)
			if (n >= 0) hands.open(this.cards[n]!.id)
			else if (!this.inMini(e.offsetX, e.offsetY)) hands.blank(this.toWorld(e.offsetX, e.offsetY))
		})
		this.start(() => this.recolour())
	}

	protected zoomed(percent: number) {
		this.hands.zoomed(percent)
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
	private tell() {
		this.hands.select(
			[...this.chosen].map(i => this.cards[i]!.id),
			this.cards[this.last]?.id ?? null,
		)
	}
}
