/* The graph on a canvas: pan, zoom, pick, keys; knows no framework. Colours are the document's
 * tokens, read when the theme changes. One paint a frame at most, and none when nothing changed. */
import { looks, type Kind } from '@/domain/states'
import { runSize, type Layout, type Size } from './layout'
import type { Model } from './model'
import { drawState, shorten, stateColours, tokens } from './paint'
import { Pan } from './pan'

export interface NodeState {
	kind: Kind | null
	note: string
}
export interface ViewEvents {
	pick?: (id: string | null, open: boolean) => void
	zoomed?: (percent: number) => void
}

const names = {
	bg: 'bg',
	surface: 'surface',
	line: 'line',
	line2: 'line-2',
	text: 'text',
	text2: 'text-2',
	text3: 'text-3',
	accent: 'accent-fg',
	font: 'font',
	mono: 'mono',
	alt: 'sunken',
}
const colours = () => ({ ...tokens(names), st: stateColours() })

const loud = new Set<Kind>(['running', 'retry', 'failed', 'hanged', 'queued', 'frozen', 'killing', 'killed'])

export class GraphView extends Pan {
	private c = colours()
	private model?: Model
	private lay?: Layout
	private states: (NodeState | undefined)[] = []
	private hover = -1
	private chosen = -1
	private lit = new Set<number>()
	private path = new Set<string>()
	private drag?: { x: number; y: number; moved: boolean }
	private cut = new Map<string, string>()
	constructor(
		canvas: HTMLCanvasElement,
		private events: ViewEvents = {},
		private card: Size = runSize,
	) {
		super(canvas, 3)
		this.on('pointerdown', e => this.down(e))
		this.on('pointermove', e => this.move(e))
		this.on('pointerup', e => this.up(e))
		this.on('pointercancel', e => {
			this.lift(e)
			this.drag = undefined
		})
		this.on('pointerleave', () => {
			if (this.hover >= 0) {
				this.hover = -1
				this.paint()
			}
		})
		this.on('dblclick', e => {
			const n = this.at(e.offsetX, e.offsetY)
			if (n >= 0) this.events.pick?.(this.model!.nodes[n]!.id, true)
		})
		this.start(() => {
			this.c = colours()
			this.cut.clear()
		})
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

	protected draw() {
		const { ctx, c } = this,
			ratio = this.canvas.width / Math.max(1, this.w)
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
		ctx.fillStyle = c.bg
		ctx.fillRect(0, 0, this.w, this.h)
		if (!this.model || !this.lay) return
		const x0 = -this.ox / this.scale,
			y0 = -this.oy / this.scale,
			x1 = x0 + this.w / this.scale,
			y1 = y0 + this.h / this.scale
		this.bands(x0, x1)
		ctx.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.ox, ratio * this.oy)
		this.lines(x0, y0, x1, y1)
		for (let i = 0; i < this.model.nodes.length; i++) {
			const x = this.lay.x[i]!,
				y = this.lay.y[i]!
			if (x > x1 || y > y1 || x + this.card.width < x0 || y + this.card.height < y0) continue
			this.node(i, x, y)
		}
	}

	private bands(x0: number, x1: number) {
		const step = this.card.width + this.card.gapX,
			{ ctx } = this
		if (this.scale < 0.15) return
		ctx.fillStyle = this.c.alt
		ctx.globalAlpha = 0.5
		for (let k = 1; k < this.lay!.layers; k += 2) {
			const x = k * step - this.card.gapX / 2
			if (x > x1 || x + step < x0) continue
			ctx.fillRect(this.ox + x * this.scale, 0, step * this.scale, this.h)
		}
		ctx.globalAlpha = 1
	}

	private lines(x0: number, y0: number, x1: number, y1: number) {
		const { ctx, c, card: size } = this,
			lay = this.lay!,
			w = size.width,
			mid = size.height / 2,
			wide = this.scale < 0.4 ? (1 / this.scale) * 0.6 : 1.2
		const draw = (on: boolean | 'path') => {
			for (const dashed of [false, true]) {
				ctx.beginPath()
				for (const e of this.model!.edges) {
					if (
						e.dashed !== dashed ||
						(on === 'path' ? !this.path.has(e.from + '>' + e.to) : this.isLit(e.from, e.to) !== on)
					)
						continue
					const ax = lay.x[e.from]! + w,
						ay = lay.y[e.from]! + mid,
						bx = lay.x[e.to]!,
						by = lay.y[e.to]! + mid
					if (Math.max(ax, bx) < x0 || Math.min(ax, bx) > x1 || Math.max(ay, by) < y0 || Math.min(ay, by) > y1) continue
					const k = Math.max(24, Math.min(90, Math.abs(bx - ax) / 2))
					ctx.moveTo(ax, ay)
					ctx.bezierCurveTo(ax + k, ay, bx - k, by, bx, by)
				}
				ctx.setLineDash(dashed ? [5, 4] : [])
				ctx.stroke()
			}
			ctx.setLineDash([])
		}
		ctx.strokeStyle = c.line2
		ctx.lineWidth = wide
		ctx.globalAlpha = this.chosen >= 0 ? 0.55 : 1
		draw(false)
		ctx.globalAlpha = 1
		if (this.path.size) {
			ctx.strokeStyle = c.text
			ctx.lineWidth = wide * 1.7
			draw('path')
		}
		if (this.chosen < 0) return
		ctx.strokeStyle = c.text2
		ctx.lineWidth = wide * 1.5
		draw(true)
	}

	private isLit(a: number, b: number) {
		return this.chosen >= 0 && (a === this.chosen || this.lit.has(a)) && (b === this.chosen || this.lit.has(b))
	}

	private node(i: number, x: number, y: number) {
		const { ctx, c, card: size } = this,
			n = this.model!.nodes[i]!,
			s = this.states[i],
			kind = s?.kind ?? null,
			look = kind ? looks[kind] : null,
			st = kind ? c.st[kind]! : null
		const dim = this.chosen >= 0 && i !== this.chosen && !this.lit.has(i)
		const noisy = !!kind && loud.has(kind)
		ctx.globalAlpha = dim ? 0.55 : 1
		ctx.beginPath()
		ctx.roundRect(x, y, size.width, size.height, 6)
		ctx.fillStyle = noisy ? st!.bg : c.surface
		ctx.fill()
		ctx.strokeStyle = i === this.hover ? c.text2 : noisy || look?.dashed || kind === 'forced' ? st!.edge : c.line2
		ctx.lineWidth = this.scale < 0.4 && noisy ? 1.4 / this.scale : 1
		if (look?.dashed || kind === 'forced' || n.ghost) ctx.setLineDash([3, 2])
		ctx.stroke()
		ctx.setLineDash([])
		if (i === this.chosen) {
			ctx.beginPath()
			ctx.roundRect(x - 3, y - 3, size.width + 6, size.height + 6, 8)
			ctx.strokeStyle = c.accent
			ctx.lineWidth = 2 / Math.min(1, this.scale)
			ctx.stroke()
		}
		if (this.scale < 0.16) {
			if (st) {
				ctx.fillStyle = look?.hollow ? c.surface : st.c
				ctx.fillRect(x + 4, y + 4, size.width - 8, size.height - 8)
				if (look?.hollow) {
					ctx.strokeStyle = st.edge
					ctx.lineWidth = 2
					ctx.strokeRect(x + 4, y + 4, size.width - 8, size.height - 8)
				}
			}
			ctx.globalAlpha = 1
			return
		}
		const left = kind ? 30 : 10
		if (kind) drawState(ctx, kind, x + 8, y + (size.height - 16) / 2, st!, c.surface)
		if (this.scale >= 0.32)
			this.words(
				n.label,
				s?.note ?? n.note ?? '',
				x,
				y,
				left,
				kind === 'ready' ? c.text2 : c.text,
				noisy ? st!.fg : c.text3,
			)
		ctx.globalAlpha = 1
	}

	private words(label: string, note: string, x: number, y: number, left: number, ink: string, noteInk: string) {
		const { ctx, c, card: size } = this,
			base = y + size.height / 2 + 4
		let room = size.width - left - 10
		if (note) {
			ctx.font = `500 11px ${c.font}`
			const w = ctx.measureText(note).width
			ctx.fillStyle = noteInk
			ctx.fillText(note, x + size.width - 10 - w, base)
			room -= w + 8
		}
		ctx.font = `500 12px ${c.mono}`
		ctx.fillStyle = ink
		const key = label + '\n' + Math.round(room)
		let text = this.cut.get(key)
		if (text === undefined) {
			text = shorten(ctx, label, room)
			this.cut.set(key, text)
		}
		ctx.fillText(text, x + left, base)
	}
}
