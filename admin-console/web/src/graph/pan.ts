/* What every drawing of cards has: scale and origin, the wheel, two fingers, the size of its canvas, one paint
 * a frame at most. Knows nothing of what is drawn, nor what a finger or a button means to it. */
import { fitCanvas, follow, Painter } from './paint'

const LEAST = 0.02

export abstract class Pan extends Painter {
	protected readonly ctx: CanvasRenderingContext2D
	protected scale = 1
	protected ox = 0
	protected oy = 0
	protected w = 0
	protected h = 0
	/* Nobody moved it since it was fitted: it is fitted again when its box changes. */
	protected fitted = true
	/* The card under the pointer, by number; -1: none. */
	protected hover = -1
	private touches = new Map<number, { x: number; y: number }>()
	private apart = 0
	private off: (() => void)[] = []

	constructor(
		protected readonly canvas: HTMLCanvasElement,
		private readonly most: number,
	) {
		super()
		this.ctx = canvas.getContext('2d')!
	}

	protected abstract zoomed(percent: number): void
	abstract fit(): void

	/* Last in the constructor of what is drawn: from here on it is drawn. */
	protected start(themed: () => void) {
		this.on(
			'wheel',
			e => {
				e.preventDefault()
				if (
					e.ctrlKey ||
					e.metaKey ||
					(!e.shiftKey && Math.abs(e.deltaX) < Math.abs(e.deltaY) && e.deltaMode === 0 && Math.abs(e.deltaY) >= 40)
				)
					this.zoomBy(Math.exp(-e.deltaY * 0.0016), e.offsetX, e.offsetY)
				else this.panBy(-e.deltaX, -e.deltaY)
			},
			{ passive: false },
		)
		this.on('pointerleave', () => {
			if (this.hover >= 0) {
				this.hover = -1
				this.paint()
			}
		})
		this.off.push(
			follow(
				this.canvas,
				() => this.resize(),
				() => {
					themed()
					this.paint()
				},
			),
			() => this.rest(),
		)
		this.resize()
	}

	protected on<K extends keyof HTMLElementEventMap>(
		name: K,
		run: (e: HTMLElementEventMap[K]) => void,
		o?: AddEventListenerOptions,
	) {
		this.canvas.addEventListener(name, run as EventListener, o)
		this.off.push(() => this.canvas.removeEventListener(name, run as EventListener))
	}

	destroy() {
		for (const f of this.off) f()
	}

	get percent() {
		return Math.round(this.scale * 100)
	}
	get size() {
		return { w: this.w, h: this.h }
	}
	toWorld(px: number, py: number) {
		return { x: (px - this.ox) / this.scale, y: (py - this.oy) / this.scale }
	}
	centre() {
		return this.toWorld(this.w / 2, this.h / 2)
	}

	zoomTo(s: number) {
		this.zoomBy(s / this.scale, this.w / 2, this.h / 2)
	}

	zoomBy(f: number, x = this.w / 2, y = this.h / 2) {
		const s = Math.min(this.most, Math.max(LEAST, this.scale * f)),
			k = s / this.scale
		this.ox = x - (x - this.ox) * k
		this.oy = y - (y - this.oy) * k
		this.scale = s
		this.fitted = false
		this.zoomed(this.percent)
		this.paint()
	}

	panBy(dx: number, dy: number) {
		this.ox += dx
		this.oy += dy
		this.fitted = false
		this.paint()
	}

	/* What `fit` ends with. */
	protected settle(scale: number, ox: number, oy: number) {
		this.scale = Math.max(LEAST, scale)
		this.ox = ox
		this.oy = oy
		this.fitted = true
		this.zoomed(this.percent)
		this.paint()
	}

	/* A pointer came down; true: it is the second finger. */
	protected touch(e: PointerEvent): boolean {
		this.touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY })
		this.canvas.setPointerCapture(e.pointerId)
		this.canvas.focus({ preventScroll: true })
		if (this.touches.size !== 2) return false
		this.apart = this.fingers()
		return true
	}

	/* A pointer moved; true: two fingers zoom. */
	protected pinch(e: PointerEvent): boolean {
		if (this.touches.has(e.pointerId)) this.touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY })
		if (this.touches.size !== 2) return false
		const d = this.fingers(),
			[a, b] = [...this.touches.values()]
		if (this.apart) this.zoomBy(d / this.apart, (a!.x + b!.x) / 2, (a!.y + b!.y) / 2)
		this.apart = d
		return true
	}

	protected lift(e: PointerEvent) {
		this.touches.delete(e.pointerId)
		if (this.touches.size < 2) this.apart = 0
	}

	private fingers() {
		const [a, b] = [...this.touches.values()]
		return Math.hypot(a!.x - b!.x, a!.y - b!.y)
	}

	/* An empty canvas, in device pixels by the number given back. */
	protected clear(ground: string): number {
		const ratio = this.canvas.width / Math.max(1, this.w)
		this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
		this.ctx.fillStyle = ground
		this.ctx.fillRect(0, 0, this.w, this.h)
		return ratio
	}

	private resize() {
		const size = fitCanvas(this.canvas)
		if (!size) return
		this.w = size.w
		this.h = size.h
		if (this.fitted) this.fit()
		this.paint()
	}
}
