/* What the canvases share: the document's tokens, paths by their text, states as they are drawn, a
 * paint a frame at most, texts cut in the middle. */
import { cell, looks, type Kind } from '@/domain/states'

export interface StateColours {
	c: string
	on: string
	edge: string
	bg: string
	fg: string
}

const tokenOf = (style: CSSStyleDeclaration, name: string) => style.getPropertyValue('--' + name).trim()

/* Names of tokens in, their present values out. */
export function tokens<K extends string>(names: Record<K, string>): Record<K, string> {
	const style = getComputedStyle(document.documentElement)
	return Object.fromEntries(Object.entries<string>(names).map(([k, name]) => [k, tokenOf(style, name)])) as Record<
		K,
		string
	>
}

/* Tokens that every drawing takes; each adds its own. */
export const common = {
	bg: 'bg',
	surface: 'surface',
	line: 'line',
	line2: 'line-2',
	control: 'control',
	text: 'text',
	text2: 'text-2',
	text3: 'text-3',
	accent: 'accent-fg',
	font: 'font',
	mono: 'mono',
}

export function stateColours(): Record<Kind, StateColours> {
	const style = getComputedStyle(document.documentElement)
	return Object.fromEntries(
		Object.keys(looks).map(k => {
			const n = 'st-' + (k === 'risk' ? 'late' : k),
				v = (part: string) => tokenOf(style, n + part)
			return [k, { c: v(''), on: v('-on'), edge: v('-edge'), bg: v('-bg'), fg: v('-fg') }]
		}),
	) as Record<Kind, StateColours>
}

const paths = new Map<string, Path2D>()
export function path(d: string): Path2D {
	let p = paths.get(d)
	if (!p) {
		p = new Path2D(d)
		paths.set(d, p)
	}
	return p
}

/* In a box of 16 at x, y. `box`: as the cell of a grid. */
export function drawState(
	ctx: CanvasRenderingContext2D,
	kind: Kind,
	x: number,
	y: number,
	st: StateColours,
	surface: string,
	box = false,
) {
	const look = looks[kind],
		shape = path(box ? cell : look.shape)
	ctx.save()
	ctx.translate(x, y)
	ctx.lineJoin = ctx.lineCap = 'round'
	if (look.hollow) {
		ctx.fillStyle = surface
		ctx.fill(shape)
		ctx.strokeStyle = st.edge
		ctx.lineWidth = 1.5
		if (look.dashed) ctx.setLineDash([2.3, 1.9])
		ctx.stroke(shape)
		ctx.setLineDash([])
	} else {
		ctx.fillStyle = st.c
		ctx.fill(shape)
	}
	const ink = look.hollow ? st.edge : st.on
	if (look.line) {
		ctx.strokeStyle = ink
		ctx.lineWidth = 1.6
		ctx.stroke(path(look.line))
	}
	if (look.fill) {
		ctx.fillStyle = ink
		ctx.fill(path(look.fill))
	}
	ctx.restore()
}

/* In the middle, so that prefix and suffix stay. The font is set. */
export function shorten(ctx: CanvasRenderingContext2D, label: string, room: number): string {
	if (ctx.measureText(label).width <= room) return label
	let low = 0,
		high = label.length
	const cut = (keep: number) => {
		const a = Math.ceil(keep * 0.6)
		return label.slice(0, a) + '…' + label.slice(label.length - (keep - a))
	}
	while (low < high - 1) {
		const keep = (low + high) >> 1
		if (ctx.measureText(cut(keep)).width <= room) low = keep
		else high = keep
	}
	return low ? cut(low) : '…'
}

/* Redraws when the element changes its size or the document its look; `stop` ends it. */
export function follow(canvas: HTMLElement, resized: () => void, themed: () => void): () => void {
	const seen = new ResizeObserver(resized)
	seen.observe(canvas)
	const looked = new MutationObserver(themed)
	looked.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme', 'data-lang'] })
	return () => {
		seen.disconnect()
		looked.disconnect()
	}
}

/* A canvas as large as its box, in device pixels. */
export function fitCanvas(canvas: HTMLCanvasElement): { w: number; h: number } | null {
	const r = canvas.getBoundingClientRect(),
		ratio = Math.min(3, devicePixelRatio || 1)
	if (!r.width || !r.height) return null
	canvas.width = Math.round(r.width * ratio)
	canvas.height = Math.round(r.height * ratio)
	return { w: r.width, h: r.height }
}

/* A drawing is drawn once a frame at most, however often it is asked for. */
export abstract class Painter {
	private frame = 0
	/* For tests and measures: how often it was drawn, and how long the last took. */
	draws = 0
	lastDrawMs = 0

	protected abstract draw(): void
	protected paint() {
		if (this.frame) return
		this.frame = requestAnimationFrame(() => {
			this.frame = 0
			const from = performance.now()
			this.draw()
			this.lastDrawMs = performance.now() - from
			this.draws++
		})
	}
	protected rest() {
		cancelAnimationFrame(this.frame)
	}
}
