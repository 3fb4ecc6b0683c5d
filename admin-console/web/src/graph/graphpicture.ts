/* How a graph of tasks is drawn: bands of layers, edges, nodes by their states. Colours are the document's tokens. */
import { looks, type Kind } from '@/domain/states'
import { runSize, type Layout, type Size } from './layout'
import type { Model } from './model'
import { common, drawState, shorten, stateColours, tokens } from './paint'
import { Pan } from './pan'

export interface NodeState {
	kind: Kind | null
	note: string
}
const names = {
	...common,
	alt: 'sunken',
}
const colours = () => ({ ...tokens(names), st: stateColours() })

const loud = new Set<Kind>(['running', 'retry', 'failed', 'hanged', 'queued', 'frozen', 'killing', 'killed'])

export abstract class GraphPicture extends Pan {
	protected c = colours()
	protected model?: Model
	protected lay?: Layout
	protected states: (NodeState | undefined)[] = []
	protected chosen = -1
	protected lit = new Set<number>()
	protected path = new Set<string>()
	protected cut = new Map<string, string>()

	constructor(
		canvas: HTMLCanvasElement,
		most: number,
		protected card: Size = runSize,
	) {
		super(canvas, most)
	}
	protected recolour() {
		this.c = colours()
		this.cut.clear()
	}

	protected draw() {
		const { ctx, c } = this,
			ratio = this.clear(c.bg)
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
