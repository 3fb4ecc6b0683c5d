/* Tasks by runs on a canvas that stays while its box scrolls. Cells are drawn once a kind and copied;
 * knows no framework. Colours are tokens. */
import { isTask, kindAt, spans, type Block, type Column, type Row } from '@/domain/grid'
import { looks, type Kind } from '@/domain/states'
import { drawState, fitCanvas, follow, shorten, stateColours, tokens } from './paint'

export interface At {
	r: number
	c: number
}
export interface GridHands {
	pick: (at: At, open: boolean) => void
	block: (b: Block, done: boolean) => void
	head: (c: number) => void
	near: () => void /* the oldest columns are in sight */
}
export interface GridWords {
	took: string
	date: string
	group: (depth: number, n: number) => string
	month: (key: string) => string
}

const names = {
	bg: 'bg',
	surface: 'surface',
	sunken: 'sunken',
	line: 'line',
	line2: 'line-2',
	control: 'control',
	text: 'text',
	text2: 'text-2',
	text3: 'text-3',
	accent: 'accent-fg',
	accentBg: 'accent-bg',
	hover: 'hover',
	quiet: 'st-succ-quiet',
	quietOn: 'st-succ-quiet-on',
	font: 'font',
	mono: 'mono',
}

export const ROW = 22
const HEAD = 30,
	TOP = 100,
	BARS = 44,
	BAR_TOP = 28

export class GridView {
	private ctx: CanvasRenderingContext2D
	private c = tokens(names)
	private st = stateColours()
	private sprites = new Map<string, HTMLCanvasElement>()
	private rows: readonly Row[] = []
	private cols: readonly Column[] = []
	private ys: number[] = [0]
	private most = 1
	private mostOf: number[] = []
	private cycle = 86400
	private by: 'state' | 'took' = 'state'
	private w = 0
	private h = 0
	private left = 220
	private cw = 22
	private frame = 0
	private cursor: At | null = null
	private block: Block | null = null
	private hover: At | null = null
	private drag: { from: At; x: number; y: number; moved: boolean } | null = null
	private cut = new Map<string, string>()
	private off: () => void
	private keepRight = true
	draws = 0
	lastDrawMs = 0

	constructor(
		private canvas: HTMLCanvasElement,
		private box: HTMLElement,
		private size: HTMLElement,
		private hands: GridHands,
		private words: GridWords,
	) {
		this.ctx = canvas.getContext('2d')!
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
			cancelAnimationFrame(this.frame)
		}
		this.resize()
	}

	destroy() {
		this.off()
	}
	setWords(words: GridWords) {
		this.words = words
		this.paint()
	}

	private look() {
		this.c = tokens(names)
		this.st = stateColours()
		this.sprites.clear()
		this.cut.clear()
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

	private took(c: Column) {
		return c.run.started
			? Math.max(0, (c.run.ended ? Date.parse(c.run.ended) : Date.now()) - Date.parse(c.run.started))
			: 0
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

	private rowAt(y: number): number {
		let low = 0,
			high = this.rows.length - 1
		while (low <= high) {
			const mid = (low + high) >> 1
			if (y < this.ys[mid]!) high = mid - 1
			else if (y >= this.ys[mid + 1]!) low = mid + 1
			else return mid
		}
		return -1
	}

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
	/* On the page, for tests and for what is put beside a cell. */
	place(at: At) {
		return {
			x: this.left + (at.c + 0.5) * this.cw - this.box.scrollLeft,
			y: TOP + this.ys[at.r]! + ROW / 2 - this.box.scrollTop,
		}
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

	/* --- drawing --- */

	private paint() {
		if (this.frame) return
		this.frame = requestAnimationFrame(() => {
			this.frame = 0
			const from = performance.now()
			this.draw()
			this.lastDrawMs = performance.now() - from
			this.draws++
		})
	}

	/* A cell of this kind, drawn once, in device pixels. */
	private sprite(kind: Kind, ratio: number): HTMLCanvasElement {
		let s = this.sprites.get(kind)
		if (s) return s
		s = document.createElement('canvas')
		const px = Math.round(18 * ratio)
		s.width = s.height = px
		const ctx = s.getContext('2d')!
		ctx.scale(px / 18, px / 18)
		const quiet = kind === 'succ' ? { ...this.st.succ, c: this.c.quiet, on: this.c.quietOn } : this.st[kind]
		drawState(ctx, kind, 1, 1, quiet, this.c.surface, true)
		this.sprites.set(kind, s)
		return s
	}

	private draw() {
		const { ctx, c } = this,
			ratio = this.canvas.width / Math.max(1, this.w),
			sx = this.box.scrollLeft,
			sy = this.box.scrollTop
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
		ctx.fillStyle = c.surface
		ctx.fillRect(0, 0, this.w, this.h)
		const c0 = Math.max(0, Math.floor(sx / this.cw)),
			c1 = Math.min(this.cols.length - 1, Math.floor((sx + this.w - this.left) / this.cw))
		const r0 = Math.max(0, this.rowAt(Math.max(0, sy))),
			bottom = this.rowAt(sy + this.h - TOP),
			r1 = bottom < 0 ? this.rows.length - 1 : bottom
		this.stripes(c0, c1, sx)
		ctx.save()
		ctx.beginPath()
		ctx.rect(0, TOP, this.w, this.h - TOP)
		ctx.clip()
		if (this.hover && this.hover.r >= 0) {
			ctx.fillStyle = c.hover
			ctx.fillRect(0, TOP + this.ys[this.hover.r]! - sy, this.w, isTask(this.rows[this.hover.r]) ? ROW : HEAD)
		}
		this.cells(r0, r1, c0, c1, sx, sy, ratio)
		this.marks(sx, sy)
		this.names(r0, r1, sy)
		ctx.restore()
		this.head(c0, c1, sx)
	}

	private stripes(c0: number, c1: number, sx: number) {
		const { ctx, c } = this
		for (let k = c0; k <= c1; k++) {
			const day = new Date(this.cols[k]!.label).getUTCDay()
			const odd = this.cycle < 86400 ? Number(this.cols[k]!.label.slice(11, 13)) === 0 : day === 0 || day === 6
			if (!odd && this.hover?.c !== k) continue
			ctx.fillStyle = this.hover?.c === k ? c.hover : c.sunken
			const x = this.left + k * this.cw - sx
			if (this.cycle < 86400 && this.hover?.c !== k) {
				ctx.fillStyle = c.line
				ctx.fillRect(x, BAR_TOP, 1, this.h)
			} else ctx.fillRect(x, BAR_TOP, this.cw, this.h)
		}
	}

	private cells(r0: number, r1: number, c0: number, c1: number, sx: number, sy: number, ratio: number) {
		const { ctx } = this,
			pad = (this.cw - 18) / 2
		for (let r = r0; r <= r1; r++) {
			const row = this.rows[r]
			if (!isTask(row)) continue
			const y = TOP + this.ys[r]! - sy + (ROW - 18) / 2
			for (let k = c0; k <= c1; k++) {
				const col = this.cols[k]!,
					kind = kindAt(col.cells, row.at)
				if (!kind) continue
				const x = this.left + k * this.cw - sx + pad
				if (this.by === 'took') this.bar(kind, col.took[row.at] ?? 0, this.mostOf[r]!, x, y)
				else ctx.drawImage(this.sprite(kind, ratio), x, y, 18, 18)
				if (this.by === 'state' && col.many.has(row.at)) {
					ctx.fillStyle = this.c.text3
					ctx.fillRect(x + 13, y + 1.5, 3, 3)
				}
			}
		}
	}

	private bar(kind: Kind, took: number, most: number, x: number, y: number) {
		const { ctx, c } = this,
			st = this.st[kind],
			h = took ? Math.max(2, (15 * took) / most) : 0
		ctx.fillStyle = c.sunken
		ctx.fillRect(x + 2, y + 1, 14, 16)
		ctx.fillStyle = kind === 'succ' ? st.c : looks[kind].hollow ? st.edge : st.c
		if (h) ctx.fillRect(x + 2, y + 17 - h, 14, h)
		else {
			ctx.globalAlpha = 0.6
			ctx.fillRect(x + 2, y + 15.5, 14, 1.5)
			ctx.globalAlpha = 1
		}
	}

	private marks(sx: number, sy: number) {
		const { ctx, c } = this
		if (this.block) {
			const b = this.block,
				x = this.left + b.c0 * this.cw - sx,
				y = TOP + this.ys[b.r0]! - sy,
				w = (b.c1 - b.c0 + 1) * this.cw,
				h = this.ys[b.r1 + 1]! - this.ys[b.r0]!
			ctx.beginPath()
			ctx.roundRect(x - 0.5, y - 0.5, w + 1, h + 1, 5)
			ctx.globalAlpha = 0.14
			ctx.fillStyle = c.accent
			ctx.fill()
			ctx.globalAlpha = 1
			ctx.strokeStyle = c.accent
			ctx.lineWidth = 1.5
			ctx.stroke()
		}
		if (this.cursor && this.rows[this.cursor.r]) {
			const p = this.place(this.cursor)
			ctx.beginPath()
			ctx.roundRect(p.x - this.cw / 2 - 0.5, p.y - ROW / 2 - 0.5, this.cw + 1, ROW + 1, 5)
			ctx.strokeStyle = c.accent
			ctx.lineWidth = 2
			ctx.stroke()
		}
	}

	private names(r0: number, r1: number, sy: number) {
		const { ctx, c } = this
		ctx.fillStyle = c.surface
		ctx.fillRect(0, TOP, this.left - 4, this.h)
		ctx.textBaseline = 'middle'
		for (let r = r0; r <= r1; r++) {
			const row = this.rows[r]!,
				y = TOP + this.ys[r]! - sy
			if (isTask(row)) {
				const here = this.hover?.r === r || this.cursor?.r === r
				if (here) {
					ctx.fillStyle = c.hover
					ctx.beginPath()
					ctx.roundRect(8, y, this.left - 14, ROW, 4)
					ctx.fill()
				}
				ctx.font = `500 12px ${c.mono}`
				ctx.fillStyle = here ? c.text : c.text2
				const key = row.label + this.left
				let text = this.cut.get(key)
				if (text === undefined) {
					text = shorten(ctx, row.label, this.left - 36)
					this.cut.set(key, text)
				}
				ctx.fillText(text, 24, y + ROW / 2 + 0.5)
			} else {
				ctx.font = `600 12px ${c.font}`
				ctx.fillStyle = c.text2
				const text = this.words.group(row.head, row.n)
				ctx.fillText(text, 16, y + HEAD / 2 + 2)
				ctx.fillStyle = c.line
				ctx.fillRect(this.left, y + HEAD / 2 + 2, this.w, 1)
			}
		}
	}

	private head(c0: number, c1: number, sx: number) {
		const { ctx, c } = this
		ctx.fillStyle = c.surface
		ctx.fillRect(0, 0, this.left - 4, TOP)
		ctx.save()
		ctx.beginPath()
		ctx.rect(this.left - 4, 0, this.w, TOP)
		ctx.clip()
		ctx.textBaseline = 'alphabetic'
		ctx.font = `600 12px ${c.font}`
		for (const s of spans(this.cols, this.cycle)) {
			const x = this.left + s.at * this.cw - sx,
				end = x + s.n * this.cw,
				text = this.words.month(s.key)
			if (end < this.left || x > this.w) continue
			const wide = ctx.measureText(text).width
			if (end - Math.max(x, this.left) < wide + 8 && s.at > 0 && s.n * this.cw < wide) continue
			ctx.fillStyle = c.text2
			ctx.fillText(text, Math.min(Math.max(x, this.left) + 2, Math.max(x + 2, end - wide - 8)), 18)
		}
		for (let k = c0; k <= c1; k++) {
			const col = this.cols[k]!,
				x = this.left + k * this.cw - sx,
				took = this.took(col),
				h = took ? Math.max(3, (BARS * took) / this.most) : 0
			const st = this.st[col.kind],
				hollow = looks[col.kind].hollow
			ctx.beginPath()
			ctx.roundRect(x + 4, BAR_TOP + BARS - (h || 2), this.cw - 8, h || 2, 2)
			ctx.fillStyle = col.kind === 'succ' ? c.quiet : hollow ? st.edge : st.c
			ctx.fill()
			const small = this.cycle < 86400,
				text = small ? col.label.slice(11, 13) : String(Number(col.label.slice(8, 10)))
			if (small && this.cw < 24 && k % 2) continue
			const on = this.hover?.c === k || this.cursor?.c === k
			ctx.font = `${on ? 600 : 400} 11px ${c.font}`
			ctx.fillStyle = on ? c.text : c.text3
			ctx.textAlign = 'center'
			ctx.fillText(text, x + this.cw / 2, TOP - 10)
			ctx.textAlign = 'left'
		}
		ctx.restore()
		ctx.font = `400 11px ${c.font}`
		ctx.fillStyle = c.text3
		ctx.fillText(this.words.took, 16, BAR_TOP + BARS / 2 + 6)
		ctx.fillText(this.words.date, 16, TOP - 10)
		if (this.box.scrollTop > 0) {
			ctx.fillStyle = c.line
			ctx.fillRect(0, TOP - 1, this.w, 1)
		}
		if (sx > 0) {
			ctx.fillStyle = c.line
			ctx.fillRect(this.left - 4, 0, 1, this.h)
		}
	}
}
