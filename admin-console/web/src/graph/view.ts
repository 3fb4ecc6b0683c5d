/* The graph on a canvas: pan, zoom, pick, keys; knows no framework. One paint a frame at most, and none when
 * nothing changed. */
import { GraphPicture, type NodeState } from './graphpicture'
import type { Layout, Size } from './layout'
import type { Model } from './model'

export interface ViewEvents {
	pick?: (id: string | null, open: boolean) => void
	zoomed?: (percent: number) => void
}

export class GraphView extends GraphPicture {
	private drag?: { x: number; y: number; moved: boolean }

	constructor(
		canvas: HTMLCanvasElement,
		private events: ViewEvents = {},
		card?: Size,
	) {
		super(canvas, 3, card)
		this.on('pointerdown', e => this.down(e))
		this.on('pointermove', e => this.move(e))
		this.on('pointerup', e => this.up(e))
		this.on('pointercancel', e => {
			this.lift(e)
			this.drag = undefined
		})
		this.on('dblclick', e => {
			const n = this.at(e.offsetX, e.offsetY)
			if (n >= 0) this.events.pick?.(this.model!.nodes[n]!.id, true)
		})
		this.start(() => this.recolour())
	}

	/* For tests: something is laid out and drawn. */
	get shown() {
		return !!this.lay
	}

	show(model: Model, lay: Layout) {
		const same =
			this.model &&
			this.model.nodes.length === model.nodes.length &&
			this.lay &&
			this.lay.width === lay.width &&
			this.lay.height === lay.height
		this.model = model
		this.lay = lay
		this.cut.clear()
		if (!same || this.fitted) this.fit()
		this.choose(this.chosen >= 0 && this.chosen < model.nodes.length ? model.nodes[this.chosen]!.id : null)
		this.paint()
	}

	setStates(states: (NodeState | undefined)[]) {
		this.states = states
		this.paint()
	}

	/* Drawn in ink while nothing is chosen. */
	setPath(ids: readonly string[]) {
		this.path = new Set(ids.slice(1).map((id, i) => this.model?.index.get(ids[i]!) + '>' + this.model?.index.get(id)))
		this.paint()
	}

	choose(id: string | null, reveal = false) {
		const n = id === null ? -1 : (this.model?.index.get(id) ?? -1)
		this.chosen = n
		this.lit =
			n >= 0 && this.model ? new Set([...this.model.reach(n, 'into'), ...this.model.reach(n, 'out')]) : new Set()
		if (reveal && n >= 0) this.reveal(n)
		this.paint()
	}

	place(id: string) {
		const n = this.model?.index.get(id)
		if (n === undefined || !this.lay) return null
		return {
			x: this.ox + (this.lay.x[n]! + this.card.width / 2) * this.scale,
			y: this.oy + (this.lay.y[n]! + this.card.height / 2) * this.scale,
		}
	}

	fit() {
		if (!this.lay || !this.w) return
		const pad = 24,
			foot = 44,
			s = Math.min(
				(this.w - 2 * pad) / Math.max(1, this.lay.width),
				(this.h - pad - foot) / Math.max(1, this.lay.height),
			)
		let scale = Math.min(1.15, Math.max(0.02, s))
		/* Too small to read: begin at the left at 70 % instead. */
		if (scale < 0.4 && this.model!.nodes.length < 400) scale = 0.7
		const whole = this.lay.width * scale <= this.w - pad
		this.settle(
			scale,
			whole ? (this.w - this.lay.width * scale) / 2 : pad,
			Math.max(pad, (this.h - foot + pad - this.lay.height * scale) / 2),
		)
	}

	protected zoomed(percent: number) {
		this.events.zoomed?.(percent)
	}

	/* Along edges with the arrows; up and down within a layer. */
	key(k: string): boolean {
		if (!this.model || !this.lay) return false
		const steps: Record<string, () => number> = {
			ArrowRight: () => this.nearest(this.model!.out[this.chosen] ?? []),
			ArrowLeft: () => this.nearest(this.model!.into[this.chosen] ?? []),
			ArrowDown: () => this.beside(1),
			ArrowUp: () => this.beside(-1),
		}
		if (k in steps) {
			const n = this.chosen < 0 ? this.first() : steps[k]!()
			if (n >= 0) {
				this.choose(this.model.nodes[n]!.id, true)
				this.events.pick?.(this.model.nodes[n]!.id, false)
			}
			return true
		}
		if (k === 'f') {
			this.fit()
			return true
		}
		if (k === '1') {
			this.zoomTo(1)
			return true
		}
		if (k === '+' || k === '=') {
			this.zoomBy(1.2)
			return true
		}
		if (k === '-') {
			this.zoomBy(1 / 1.2)
			return true
		}
		return false
	}

	private first() {
		let best = -1
		for (let i = 0; i < this.model!.nodes.length; i++)
			if (
				best < 0 ||
				this.lay!.x[i]! < this.lay!.x[best]! ||
				(this.lay!.x[i] === this.lay!.x[best] && this.lay!.y[i]! < this.lay!.y[best]!)
			)
				best = i
		return best
	}

	private nearest(of: number[]) {
		let best = -1
		for (const n of of)
			if (
				best < 0 ||
				Math.abs(this.lay!.y[n]! - this.lay!.y[this.chosen]!) < Math.abs(this.lay!.y[best]! - this.lay!.y[this.chosen]!)
			)
				best = n
		return best
	}

	private beside(step: number) {
		let best = -1
		const y = this.lay!.y[this.chosen]!
		for (let i = 0; i < this.model!.nodes.length; i++) {
			if (this.lay!.layer[i] !== this.lay!.layer[this.chosen] || (this.lay!.y[i]! - y) * step <= 0) continue
			if (best < 0 || (this.lay!.y[i]! - this.lay!.y[best]!) * step < 0) best = i
		}
		return best
	}

	private reveal(n: number) {
		const x = this.ox + this.lay!.x[n]! * this.scale,
			y = this.oy + this.lay!.y[n]! * this.scale,
			bw = this.card.width * this.scale,
			bh = this.card.height * this.scale
		if (x < 8) this.ox += 24 - x
		else if (x + bw > this.w - 8) this.ox -= x + bw - this.w + 24
		if (y < 8) this.oy += 24 - y
		else if (y + bh > this.h - 8) this.oy -= y + bh - this.h + 24
	}

	private at(px: number, py: number): number {
		if (!this.lay) return -1
		const x = (px - this.ox) / this.scale,
			y = (py - this.oy) / this.scale
		for (let i = this.lay.x.length - 1; i >= 0; i--)
			if (
				x >= this.lay.x[i]! &&
				x <= this.lay.x[i]! + this.card.width &&
				y >= this.lay.y[i]! &&
				y <= this.lay.y[i]! + this.card.height
			)
				return i
		return -1
	}

	private down(e: PointerEvent) {
		this.drag = this.touch(e) ? undefined : { x: e.offsetX, y: e.offsetY, moved: false }
	}

	private move(e: PointerEvent) {
		if (this.pinch(e)) return
		if (this.drag) {
			const dx = e.offsetX - this.drag.x,
				dy = e.offsetY - this.drag.y
			if (!this.drag.moved && Math.hypot(dx, dy) < 4) return
			this.drag = { x: e.offsetX, y: e.offsetY, moved: true }
			this.canvas.style.cursor = 'grabbing'
			this.panBy(dx, dy)
		} else {
			const n = this.at(e.offsetX, e.offsetY)
			if (n !== this.hover) {
				this.hover = n
				this.canvas.style.cursor = n >= 0 ? 'pointer' : 'grab'
				this.canvas.title = n >= 0 ? this.model!.nodes[n]!.id : ''
				this.paint()
			}
		}
	}

	private up(e: PointerEvent) {
		this.lift(e)
		const drag = this.drag
		this.drag = undefined
		this.canvas.style.cursor = 'grab'
		if (!drag || drag.moved) return
		const n = this.at(e.offsetX, e.offsetY),
			id = n >= 0 ? this.model!.nodes[n]!.id : null
		this.choose(id)
		this.events.pick?.(id, false)
	}
}
