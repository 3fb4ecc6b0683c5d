/* Tasks by runs on a canvas that stays while its box scrolls: where things are, what hands do. Knows no framework. */
import { isTask, type Block, type Column, type Row } from '@/domain/grid'
import { GridPicture, HEAD, ROW, TOP, type At, type GridWords } from './gridpicture'
import { fitCanvas, follow } from './paint'

export interface GridHands {
	pick: (at: At, open: boolean) => void
	block: (b: Block, done: boolean) => void
	head: (c: number) => void
	near: () => void /* the oldest columns are in sight */
}
export class GridView extends GridPicture {
	private drag: { from: At; x: number; y: number; moved: boolean } | null = null
	private off: () => void
	private keepRight = true

	constructor(
		canvas: HTMLCanvasElement,
		box: HTMLElement,
		private size: HTMLElement,
		private hands: GridHands,
		words: GridWords,
	) {
		super(canvas, box, words)
		const listen = <K extends keyof HTMLElementEventMap>(
			on: HTMLElement,
			name: K,
			run: (e: HTMLElementEventMap[K]) => void,
			o?: AddEventListenerOptions,
		) => {
			on.addEventListener(name, run as EventListener, o)
			return () => on.removeEventListener(name, run as EventListener)
		}
		const offs = [
			listen(canvas, 'pointerdown', e => this.down(e)),
			listen(canvas, 'pointermove', e => this.moved(e)),
			listen(canvas, 'pointerup', e => this.up(e)),
			listen(canvas, 'pointercancel', () => {
				this.drag = null
			}),
			listen(canvas, 'pointerleave', () => {
				if (this.hover) {
					this.hover = null
					this.paint()
				}
			}),
			listen(canvas, 'dblclick', e => {
				const at = this.at(e.offsetX, e.offsetY)
				if (at) this.hands.pick(at, true)
			}),
			listen(
				box,
				'scroll',
				() => {
					this.scrolled()
					this.paint()
				},
				{ passive: true },
			),
			follow(
				box,
				() => this.resize(),
				() => {
					this.look()
					this.paint()
				},
			),
		]
		this.off = () => {
			for (const f of offs) f()
			this.rest()
		}
		this.resize()
	}

	destroy() {
		this.off()
	}

	show(rows: readonly Row[], cols: readonly Column[], cycle: number, by: 'state' | 'took') {
		const before = this.cols,
			first = before[0]?.label
		this.rows = rows
		this.cols = cols
		this.cycle = cycle
		this.by = by
		this.ys = [0]
		for (const r of rows) this.ys.push(this.ys[this.ys.length - 1]! + (isTask(r) ? ROW : HEAD))
		this.most = Math.max(1, ...cols.map(c => this.took(c)))
		this.mostOf = by === 'took' ? rows.map(r => (isTask(r) ? Math.max(1, ...cols.map(c => c.took[r.at] ?? 0)) : 1)) : []
		this.measure()
		/* Older runs came on the left: what one looks at stays where it is. */
		const older = first === undefined ? 0 : cols.findIndex(c => c.label === first)
		if (older > 0 && !this.keepRight) this.box.scrollLeft += older * this.cw
		if (older > 0) {
			if (this.cursor) this.cursor.c += older
			if (this.block) {
				this.block.c0 += older
				this.block.c1 += older
			}
		}
		if (this.keepRight) this.box.scrollLeft = this.size.offsetWidth
		this.paint()
	}

	private measure() {
		this.left = this.w < 720 ? 132 : 232
		const room = this.w - this.left - 12
		this.cw = Math.max(20, Math.min(30, Math.floor(room / Math.max(1, this.cols.length))))
		this.size.style.width = Math.max(this.w, this.left + this.cols.length * this.cw + 12) + 'px'
		this.size.style.height = Math.max(this.h, TOP + this.ys[this.ys.length - 1]! + 64) + 'px'
	}

	private resize() {
		const was = this.w
		this.canvas.style.width = this.box.clientWidth + 'px'
		this.canvas.style.height = this.box.clientHeight + 'px'
		const got = fitCanvas(this.canvas)
		if (!got) return
		this.w = got.w
		this.h = got.h
		this.measure()
		if (this.keepRight || !was) this.box.scrollLeft = this.size.offsetWidth
		this.paint()
	}

	private scrolled() {
		this.keepRight = this.box.scrollLeft + this.w >= this.size.offsetWidth - 4
		if (this.box.scrollLeft < this.cw * 12) this.hands.near()
	}
	/* Whether older runs would be seen if they were there. */
	get wantsMore() {
		return this.cols.length > 0 && this.box.scrollLeft < this.cw * 12
	}

	/* --- places --- */

	/* c -1: the names; r -1: the head. */
	private anyAt(px: number, py: number): At | null {
		const c = px < this.left ? -1 : Math.floor((px - this.left + this.box.scrollLeft) / this.cw)
		const r = py < TOP ? -1 : this.rowAt(py - TOP + this.box.scrollTop)
		return c >= this.cols.length || (py >= TOP && r < 0) ? null : { r, c }
	}
	private at(px: number, py: number): At | null {
		const at = this.anyAt(px, py)
		return at && at.c >= 0 && isTask(this.rows[at.r]) ? at : null
	}
	under(b: Block) {
		return {
			x: this.left + (b.c1 + 1) * this.cw - this.box.scrollLeft,
			y: TOP + this.ys[b.r1 + 1]! - this.box.scrollTop,
		}
	}

	/* --- hands --- */

	choose(cursor: At | null, block: Block | null, reveal = false) {
		this.cursor = cursor
		this.block = block
		if (reveal && cursor) this.reveal(cursor)
		this.paint()
	}

	private reveal(at: At) {
		const p = this.place(at)
		if (p.x - this.cw < this.left) this.box.scrollLeft -= this.left - p.x + this.cw
		else if (p.x + this.cw > this.w) this.box.scrollLeft += p.x + this.cw - this.w
		if (p.y - ROW < TOP) this.box.scrollTop -= TOP - p.y + ROW + HEAD
		else if (p.y + ROW > this.h) this.box.scrollTop += p.y + 2 * ROW - this.h
	}

	private down(e: PointerEvent) {
		this.canvas.focus({ preventScroll: true })
		const any = this.anyAt(e.offsetX, e.offsetY)
		if (!any || e.button !== 0) return
		if (any.r < 0) {
			if (any.c >= 0) this.hands.head(any.c)
			return
		}
		if (!isTask(this.rows[any.r])) {
			this.whole(any.r)
			return
		}
		if (any.c < 0) {
			this.hands.block({ r0: any.r, r1: any.r, c0: 0, c1: this.cols.length - 1 }, true)
			return
		}
		if (e.shiftKey && this.cursor) {
			this.hands.block(
				{
					r0: Math.min(this.cursor.r, any.r),
					r1: Math.max(this.cursor.r, any.r),
					c0: Math.min(this.cursor.c, any.c),
					c1: Math.max(this.cursor.c, any.c),
				},
				true,
			)
			return
		}
		/* A finger scrolls; it picks by a tap, which is a click without a drag. */
		this.drag = { from: any, x: e.offsetX, y: e.offsetY, moved: e.pointerType === 'touch' }
		if (e.pointerType !== 'touch') this.canvas.setPointerCapture(e.pointerId)
	}

	private whole(head: number) {
		let end = head + 1
		while (isTask(this.rows[end])) end++
		this.hands.block({ r0: head + 1, r1: end - 1, c0: 0, c1: this.cols.length - 1 }, true)
	}

	private moved(e: PointerEvent) {
		const d = this.drag
		if (!d) {
			const at = this.anyAt(e.offsetX, e.offsetY)
			if (at?.r !== this.hover?.r || at?.c !== this.hover?.c) {
				this.hover = at
				this.canvas.style.cursor = at && (at.r >= 0 || at.c >= 0) ? 'pointer' : 'default'
				this.paint()
			}
			return
		}
		if (e.pointerType === 'touch' || (!d.moved && Math.hypot(e.offsetX - d.x, e.offsetY - d.y) < 5)) return
		d.moved = true
		/* Beyond the edge it goes on. */
		if (e.offsetX < this.left) this.box.scrollLeft -= this.cw
		else if (e.offsetX > this.w) this.box.scrollLeft += this.cw
		if (e.offsetY < TOP) this.box.scrollTop -= ROW
		else if (e.offsetY > this.h) this.box.scrollTop += ROW
		const c = Math.max(
			0,
			Math.min(this.cols.length - 1, Math.floor((e.offsetX - this.left + this.box.scrollLeft) / this.cw)),
		)
		const y = Math.max(0, Math.min(this.ys[this.ys.length - 1]! - 1, e.offsetY - TOP + this.box.scrollTop))
		const r = this.rowAt(y)
		if (r < 0) return
		this.hands.block(
			{ r0: Math.min(d.from.r, r), r1: Math.max(d.from.r, r), c0: Math.min(d.from.c, c), c1: Math.max(d.from.c, c) },
			false,
		)
	}

	private up(e: PointerEvent) {
		const d = this.drag
		this.drag = null
		if (!d) return
		if (!d.moved || e.pointerType === 'touch') this.hands.pick(d.from, false)
		else if (this.block) this.hands.block(this.block, true)
	}
}
