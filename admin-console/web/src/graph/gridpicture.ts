/* How the grid is drawn: the part in sight, cell by cell. Cells are drawn once a kind and copied. Colours are tokens. */
import { isTask, kindAt, spans, type Block, type Column, type Row } from '@/domain/grid'
import { looks, type Kind } from '@/domain/states'
import { common, drawState, Painter, shorten, stateColours, tokens } from './paint'

export interface At {
	r: number
	c: number
}
export interface GridWords {
	took: string
	date: string
	group: (depth: number, n: number) => string
	month: (key: string) => string
}

const names = {
	...common,
	sunken: 'sunken',
	accentBg: 'accent-bg',
	hover: 'hover',
	quiet: 'st-succ-quiet',
	quietOn: 'st-succ-quiet-on',
}

export const ROW = 22
export const HEAD = 30,
	TOP = 100,
	BARS = 44,
	BAR_TOP = 28

export abstract class GridPicture extends Painter {
	private ctx: CanvasRenderingContext2D
	protected c = tokens(names)
	protected st = stateColours()
	protected sprites = new Map<string, HTMLCanvasElement>()
	protected rows: readonly Row[] = []
	protected cols: readonly Column[] = []
	protected ys: number[] = [0]
	protected most = 1
	protected mostOf: number[] = []
	protected cycle = 86400
	protected by: 'state' | 'took' = 'state'
	protected w = 0
	protected h = 0
	protected left = 220
	protected cw = 22
	protected cursor: At | null = null
	protected block: Block | null = null
	protected hover: At | null = null
	protected cut = new Map<string, string>()

	constructor(
		protected canvas: HTMLCanvasElement,
		protected box: HTMLElement,
		protected words: GridWords,
	) {
		super()
		this.ctx = canvas.getContext('2d')!
	}

	setWords(words: GridWords) {
		this.words = words
		this.paint()
	}

	protected look() {
		this.c = tokens(names)
		this.st = stateColours()
		this.sprites.clear()
		this.cut.clear()
	}

	protected took(c: Column) {
		return c.run.started
			? Math.max(0, (c.run.ended ? Date.parse(c.run.ended) : Date.now()) - Date.parse(c.run.started))
			: 0
	}

	protected rowAt(y: number): number {
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

	/* On the page, for tests and for what is put beside a cell. */
	place(at: At) {
		return {
			x: this.left + (at.c + 0.5) * this.cw - this.box.scrollLeft,
			y: TOP + this.ys[at.r]! + ROW / 2 - this.box.scrollTop,
		}
	}
	/* A cell of this kind, drawn once, in device pixels. */
	protected sprite(kind: Kind, ratio: number): HTMLCanvasElement {
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

	protected draw() {
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

	protected stripes(c0: number, c1: number, sx: number) {
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

	protected cells(r0: number, r1: number, c0: number, c1: number, sx: number, sy: number, ratio: number) {
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

	protected bar(kind: Kind, took: number, most: number, x: number, y: number) {
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

	protected marks(sx: number, sy: number) {
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

	protected names(r0: number, r1: number, sy: number) {
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

	protected head(c0: number, c1: number, sx: number) {
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
