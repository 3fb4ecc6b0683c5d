/* The graph on a canvas: pan, zoom, pick, keys; knows no framework. Colours are the document's
 * tokens, read when the theme changes. One paint a frame at most, and none when nothing changed. */
import { looks, type Kind } from '@/domain/states'
import { runSize, type Layout, type Size } from './layout'
import type { Model } from './model'
import { drawState, follow, shorten, stateColours, tokens } from './paint'

export interface NodeState { kind: Kind | null; note: string }
export interface ViewEvents { pick?: (id: string | null, open: boolean) => void; zoomed?: (percent: number) => void }

const names = { bg: 'bg', surface: 'surface', line: 'line', line2: 'line-2', text: 'text', text2: 'text-2', text3: 'text-3', accent: 'accent-fg', font: 'font', mono: 'mono', alt: 'sunken' }
const colours = () => ({ ...tokens(names), st: stateColours() })

const loud = new Set<Kind>(['running', 'retry', 'failed', 'hanged', 'queued', 'frozen', 'killing', 'killed'])

export class GraphView {
	private ctx: CanvasRenderingContext2D
	private c = colours()
	private model?: Model
	private lay?: Layout
	private states: (NodeState | undefined)[] = []
	private scale = 1
	private ox = 0
	private oy = 0
	private w = 0
	private h = 0
	private frame = 0
	private size: Size
	private hover = -1
	private chosen = -1
	private lit = new Set<number>()
	private path = new Set<string>()
	private drag?: { x: number; y: number; moved: boolean }
	private pinch?: { d: number }
	private touches = new Map<number, { x: number; y: number }>()
	private cut = new Map<string, string>()
	private off: (() => void)[] = []
	private fitted = true
	/* For tests and measures: how often it was drawn, and how long the last took. */
	draws = 0
	lastDrawMs = 0

	constructor(private canvas: HTMLCanvasElement, private events: ViewEvents = {}, size = runSize) {
		this.size = size
		this.ctx = canvas.getContext('2d')!
		const on = <K extends keyof HTMLElementEventMap>(name: K, run: (e: HTMLElementEventMap[K]) => void, o?: AddEventListenerOptions) => {
			canvas.addEventListener(name, run as EventListener, o)
			this.off.push(() => canvas.removeEventListener(name, run as EventListener))
		}
		on('pointerdown', (e) => this.down(e))
		on('pointermove', (e) => this.move(e))
		on('pointerup', (e) => this.up(e))
		on('pointercancel', (e) => { this.touches.delete(e.pointerId); this.drag = undefined })
		on('pointerleave', () => { if (this.hover >= 0) { this.hover = -1; this.paint() } })
		on('dblclick', (e) => { const n = this.at(e.offsetX, e.offsetY); if (n >= 0) this.events.pick?.(this.model!.nodes[n]!.id, true) })
		on('wheel', (e) => {
			e.preventDefault()
			if (e.ctrlKey || e.metaKey || !e.shiftKey && Math.abs(e.deltaX) < Math.abs(e.deltaY) && e.deltaMode === 0 && Math.abs(e.deltaY) >= 40) this.zoomBy(Math.exp(-e.deltaY * 0.0016), e.offsetX, e.offsetY)
			else this.panBy(-e.deltaX, -e.deltaY)
		}, { passive: false })
		this.off.push(follow(canvas, () => this.resize(), () => { this.c = colours(); this.cut.clear(); this.paint() }), () => cancelAnimationFrame(this.frame))
		this.resize()
	}

	destroy() { for (const f of this.off) f() }

	show(model: Model, lay: Layout) {
		const same = this.model && this.model.nodes.length === model.nodes.length && this.lay && this.lay.width === lay.width && this.lay.height === lay.height
		this.model = model
		this.lay = lay
		this.cut.clear()
		if (!same || this.fitted) this.fit()
		this.choose(this.chosen >= 0 && this.chosen < model.nodes.length ? model.nodes[this.chosen]!.id : null)
		this.paint()
	}

	setStates(states: (NodeState | undefined)[]) { this.states = states; this.paint() }

	/* Drawn in ink while nothing is chosen. */
	setPath(ids: readonly string[]) {
		this.path = new Set(ids.slice(1).map((id, i) => this.model?.index.get(ids[i]!) + '>' + this.model?.index.get(id)))
		this.paint()
	}

	choose(id: string | null, reveal = false) {
		const n = id === null ? -1 : this.model?.index.get(id) ?? -1
		this.chosen = n
		this.lit = n >= 0 && this.model ? new Set([...this.model.reach(n, 'into'), ...this.model.reach(n, 'out')]) : new Set()
		if (reveal && n >= 0) this.reveal(n)
		this.paint()
	}

	get percent() { return Math.round(this.scale * 100) }
	place(id: string) {
		const n = this.model?.index.get(id)
		if (n === undefined || !this.lay) return null
		return { x: this.ox + (this.lay.x[n]! + this.size.width / 2) * this.scale, y: this.oy + (this.lay.y[n]! + this.size.height / 2) * this.scale }
	}

	fit() {
		if (!this.lay || !this.w) return
		const pad = 24, foot = 44, s = Math.min((this.w - 2 * pad) / Math.max(1, this.lay.width), (this.h - pad - foot) / Math.max(1, this.lay.height))
		this.scale = Math.min(1.15, Math.max(0.02, s))
		/* Too small to read: begin at the left at 70 % instead. */
		if (this.scale < 0.4 && this.model!.nodes.length < 400) this.scale = 0.7
		const whole = this.lay.width * this.scale <= this.w - pad
		this.ox = whole ? (this.w - this.lay.width * this.scale) / 2 : pad
		this.oy = Math.max(pad, (this.h - foot + pad - this.lay.height * this.scale) / 2)
		this.fitted = true
		this.zoomed()
	}

	zoomTo(scale: number) { this.zoomBy(scale / this.scale, this.w / 2, this.h / 2) }

	zoomBy(f: number, x = this.w / 2, y = this.h / 2) {
		const s = Math.min(3, Math.max(0.02, this.scale * f)), k = s / this.scale
		this.ox = x - (x - this.ox) * k
		this.oy = y - (y - this.oy) * k
		this.scale = s
		this.fitted = false
		this.zoomed()
	}

	panBy(dx: number, dy: number) { this.ox += dx; this.oy += dy; this.fitted = false; this.paint() }

	private zoomed() { this.events.zoomed?.(this.percent); this.paint() }

	/* Along edges with the arrows; up and down within a layer. */
	key(k: string): boolean {
		if (!this.model || !this.lay) return false
		const steps: Record<string, () => number> = {
			ArrowRight: () => this.nearest(this.model!.out[this.chosen] ?? []), ArrowLeft: () => this.nearest(this.model!.into[this.chosen] ?? []),
			ArrowDown: () => this.beside(1), ArrowUp: () => this.beside(-1),
		}
		if (k in steps) {
			const n = this.chosen < 0 ? this.first() : steps[k]!()
			if (n >= 0) { this.choose(this.model.nodes[n]!.id, true); this.events.pick?.(this.model.nodes[n]!.id, false) }
			return true
		}
		if (k === 'f') { this.fit(); return true }
		if (k === '1') { this.zoomTo(1); return true }
		if (k === '+' || k === '=') { this.zoomBy(1.2); return true }
		if (k === '-') { this.zoomBy(1 / 1.2); return true }
		return false
	}

	private first() {
		let best = -1
		for (let i = 0; i < this.model!.nodes.length; i++) if (best < 0 || this.lay!.x[i]! < this.lay!.x[best]! || (this.lay!.x[i] === this.lay!.x[best] && this.lay!.y[i]! < this.lay!.y[best]!)) best = i
		return best
	}

	private nearest(of: number[]) {
		let best = -1
		for (const n of of) if (best < 0 || Math.abs(this.lay!.y[n]! - this.lay!.y[this.chosen]!) < Math.abs(this.lay!.y[best]! - this.lay!.y[this.chosen]!)) best = n
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
		const x = this.ox + this.lay!.x[n]! * this.scale, y = this.oy + this.lay!.y[n]! * this.scale, bw = this.size.width * this.scale, bh = this.size.height * this.scale
		if (x < 8) this.ox += 24 - x
		else if (x + bw > this.w - 8) this.ox -= x + bw - this.w + 24
		if (y < 8) this.oy += 24 - y
		else if (y + bh > this.h - 8) this.oy -= y + bh - this.h + 24
	}

	private at(px: number, py: number): number {
		if (!this.lay) return -1
		const x = (px - this.ox) / this.scale, y = (py - this.oy) / this.scale
		for (let i = this.lay.x.length - 1; i >= 0; i--) if (x >= this.lay.x[i]! && x <= this.lay.x[i]! + this.size.width && y >= this.lay.y[i]! && y <= this.lay.y[i]! + this.size.height) return i
		return -1
	}

	private down(e: PointerEvent) {
		this.touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY })
		this.canvas.setPointerCapture(e.pointerId)
		this.canvas.focus({ preventScroll: true })
		if (this.touches.size === 2) { this.pinch = { d: this.span() }; this.drag = undefined } else this.drag = { x: e.offsetX, y: e.offsetY, moved: false }
	}

	private span() { const [a, b] = [...this.touches.values()]; return Math.hypot(a!.x - b!.x, a!.y - b!.y) }

	private move(e: PointerEvent) {
		if (this.touches.has(e.pointerId)) this.touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY })
		if (this.pinch && this.touches.size === 2) {
			const d = this.span(), [a, b] = [...this.touches.values()]
			this.zoomBy(d / this.pinch.d, (a!.x + b!.x) / 2, (a!.y + b!.y) / 2)
			this.pinch.d = d
		} else if (this.drag) {
			const dx = e.offsetX - this.drag.x, dy = e.offsetY - this.drag.y
			if (!this.drag.moved && Math.hypot(dx, dy) < 4) return
			this.drag = { x: e.offsetX, y: e.offsetY, moved: true }
			this.canvas.style.cursor = 'grabbing'
			this.panBy(dx, dy)
		} else {
			const n = this.at(e.offsetX, e.offsetY)
			if (n !== this.hover) { this.hover = n; this.canvas.style.cursor = n >= 0 ? 'pointer' : 'grab'; this.canvas.title = n >= 0 ? this.model!.nodes[n]!.id : ''; this.paint() }
		}
	}

	private up(e: PointerEvent) {
		this.touches.delete(e.pointerId)
		if (this.touches.size < 2) this.pinch = undefined
		const drag = this.drag
		this.drag = undefined
		this.canvas.style.cursor = 'grab'
		if (!drag || drag.moved) return
		const n = this.at(e.offsetX, e.offsetY), id = n >= 0 ? this.model!.nodes[n]!.id : null
		this.choose(id)
		this.events.pick?.(id, false)
	}

	private resize() {
		const r = this.canvas.getBoundingClientRect(), ratio = Math.min(3, devicePixelRatio || 1)
		if (!r.width || !r.height) return
		this.w = r.width
		this.h = r.height
		this.canvas.width = Math.round(r.width * ratio)
		this.canvas.height = Math.round(r.height * ratio)
		if (this.fitted) this.fit()
		this.paint()
	}

	private paint() {
		if (this.frame) return
		this.frame = requestAnimationFrame(() => { this.frame = 0; const from = performance.now(); this.draw(); this.lastDrawMs = performance.now() - from; this.draws++ })
	}

	private draw() {
		const { ctx, c } = this, ratio = this.canvas.width / Math.max(1, this.w)
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
		ctx.fillStyle = c.bg
		ctx.fillRect(0, 0, this.w, this.h)
		if (!this.model || !this.lay) return
		const x0 = -this.ox / this.scale, y0 = -this.oy / this.scale, x1 = x0 + this.w / this.scale, y1 = y0 + this.h / this.scale
		this.bands(x0, x1)
		ctx.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.ox, ratio * this.oy)
		this.lines(x0, y0, x1, y1)
		for (let i = 0; i < this.model.nodes.length; i++) {
			const x = this.lay.x[i]!, y = this.lay.y[i]!
			if (x > x1 || y > y1 || x + this.size.width < x0 || y + this.size.height < y0) continue
			this.node(i, x, y)
		}
	}

	private bands(x0: number, x1: number) {
		const step = this.size.width + this.size.gapX, { ctx } = this
		if (this.scale < 0.15) return
		ctx.fillStyle = this.c.alt
		ctx.globalAlpha = 0.5
		for (let k = 1; k < this.lay!.layers; k += 2) {
			const x = k * step - this.size.gapX / 2
			if (x > x1 || x + step < x0) continue
			ctx.fillRect(this.ox + x * this.scale, 0, step * this.scale, this.h)
		}
		ctx.globalAlpha = 1
	}

	private lines(x0: number, y0: number, x1: number, y1: number) {
		const { ctx, c, size } = this, lay = this.lay!, w = size.width, mid = size.height / 2, wide = this.scale < 0.4 ? 1 / this.scale * 0.6 : 1.2
		const draw = (on: boolean | 'path') => {
			for (const dashed of [false, true]) {
				ctx.beginPath()
				for (const e of this.model!.edges) {
					if (e.dashed !== dashed || (on === 'path' ? !this.path.has(e.from + '>' + e.to) : this.isLit(e.from, e.to) !== on)) continue
					const ax = lay.x[e.from]! + w, ay = lay.y[e.from]! + mid, bx = lay.x[e.to]!, by = lay.y[e.to]! + mid
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
		const { ctx, c, size } = this, n = this.model!.nodes[i]!, s = this.states[i], kind = s?.kind ?? null, look = kind ? looks[kind] : null, st = kind ? c.st[kind]! : null
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
			if (st) { ctx.fillStyle = look?.hollow ? c.surface : st.c; ctx.fillRect(x + 4, y + 4, size.width - 8, size.height - 8); if (look?.hollow) { ctx.strokeStyle = st.edge; ctx.lineWidth = 2; ctx.strokeRect(x + 4, y + 4, size.width - 8, size.height - 8) } }
			ctx.globalAlpha = 1
			return
		}
		const left = kind ? 30 : 10
		if (kind) drawState(ctx, kind, x + 8, y + (size.height - 16) / 2, st!, c.surface)
		if (this.scale >= 0.32) this.words(n.label, s?.note ?? n.note ?? '', x, y, left, kind === 'ready' ? c.text2 : c.text, noisy ? st!.fg : c.text3)
		ctx.globalAlpha = 1
	}

	private words(label: string, note: string, x: number, y: number, left: number, ink: string, noteInk: string) {
		const { ctx, c, size } = this, base = y + size.height / 2 + 4
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
		if (text === undefined) { text = shorten(ctx, label, room); this.cut.set(key, text) }
		ctx.fillText(text, x + left, base)
	}
}
