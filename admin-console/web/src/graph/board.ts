/* Where the cards of the graph one draws in stand and what is under a point: no hands, no paint. Knows no
 * framework and no workflow. */
import type { Kind } from '@/domain/states'
import type { Size } from './layout'
import { Pan } from './pan'

export type Look = '' | 'ghost' | 'added' | 'changed' | 'removed'
export interface Card {
	id: string
	label: string
	note: string
	icon: string
	look: Look
	mark: '' | 'error' | 'warning'
	found: boolean
	/* Of a run of it. */ state?: Kind
}
export interface Wire {
	from: number
	to: number
	label: string
	dashed: boolean
	look: Look
}

export const editSize: Size = { width: 198, height: 50, gapX: 78, gapY: 26 }
const { width: W, height: H } = editSize
export const MINI = { w: 132, h: 86, pad: 12 }

export abstract class Board extends Pan {
	protected cards: readonly Card[] = []
	protected wires: readonly Wire[] = []
	protected xs: ArrayLike<number> = []
	protected ys: ArrayLike<number> = []
	protected box = { x: 0, y: 0, w: 1, h: 1 }
	protected chosen = new Set<number>()
	protected last = -1
	protected edge = -1

	show(cards: readonly Card[], wires: readonly Wire[], xs: ArrayLike<number>, ys: ArrayLike<number>, auto = false) {
		const ids = new Set([...this.chosen].map(i => this.cards[i]?.id)),
			last = this.cards[this.last]?.id,
			first = !this.cards.length
		this.cards = cards
		this.wires = wires
		this.xs = xs
		this.ys = ys
		this.chosen = new Set()
		this.last = this.edge = this.hover = -1
		cards.forEach((k, i) => {
			if (ids.has(k.id)) this.chosen.add(i)
			if (k.id === last) this.last = i
		})
		let x0 = Infinity,
			y0 = Infinity,
			x1 = -Infinity,
			y1 = -Infinity
		for (let i = 0; i < cards.length; i++) {
			x0 = Math.min(x0, xs[i]!)
			y0 = Math.min(y0, ys[i]!)
			x1 = Math.max(x1, xs[i]! + W)
			y1 = Math.max(y1, ys[i]! + H)
		}
		this.box = cards.length ? { x: x0, y: y0, w: x1 - x0, h: y1 - y0 } : { x: 0, y: 0, w: 1, h: 1 }
		const there = this.toWorld(24, 24)
		if (first ? cards.length > 1 || x0 < there.x || y0 < there.y : auto && this.fitted) this.fit()
		this.paint()
	}

	select(ids: Iterable<string>, last: string | null, reveal = false) {
		const of = new Set(ids)
		this.chosen = new Set()
		this.last = -1
		this.cards.forEach((k, i) => {
			if (of.has(k.id)) this.chosen.add(i)
			if (k.id === last) this.last = i
		})
		if (reveal && this.last >= 0) this.reveal(this.last)
		this.paint()
	}

	selectWire(at: number | null) {
		this.edge = at ?? -1
		this.paint()
	}
	/* On the page, for tests and for what is put beside a card. */
	place(id: string) {
		const n = this.cards.findIndex(k => k.id === id)
		return n < 0
			? null
			: {
					x: this.ox + (this.xs[n]! + W / 2) * this.scale,
					y: this.oy + (this.ys[n]! + H / 2) * this.scale,
					port: this.ox + (this.xs[n]! + W) * this.scale,
				}
	}

	/* Of a run, by card: for tests, which cannot see a canvas. */
	states(): Record<string, string> {
		return Object.fromEntries(this.cards.filter(k => k.state).map(k => [k.id, k.state!]))
	}

	fit() {
		if (!this.w) return
		const pad = 40,
			s = Math.min((this.w - 2 * pad) / this.box.w, (this.h - 2 * pad - 20) / this.box.h)
		let scale = Math.min(1, Math.max(0.02, s))
		if (scale < 0.45 && this.cards.length < 200) scale = 0.7
		const wide = this.box.w * scale <= this.w - pad
		this.settle(
			scale,
			(wide ? (this.w - this.box.w * scale) / 2 : pad) - this.box.x * scale,
			Math.max(pad, (this.h - 30 - this.box.h * scale) / 2) - this.box.y * scale,
		)
	}

	protected reveal(n: number) {
		const x = this.ox + this.xs[n]! * this.scale,
			y = this.oy + this.ys[n]! * this.scale,
			bw = W * this.scale,
			bh = H * this.scale
		if (x < 20) this.ox += 40 - x
		else if (x + bw > this.w - 20) this.ox -= x + bw - this.w + 40
		if (y < 20) this.oy += 40 - y
		else if (y + bh > this.h - 60) this.oy -= y + bh - this.h + 80
		this.fitted = false
	}

	/* The next card by an arrow: along an edge when there is one that way, else the nearest that way. */
	toward(key: string): string | null {
		if (!this.cards.length) return null
		if (this.last < 0) return this.cards[this.nearest(-Infinity, -Infinity, 0, () => true)]!.id
		const a = this.last,
			x = this.xs[a]!,
			y = this.ys[a]!,
			side = key === 'ArrowRight' || key === 'ArrowLeft'
		if (side) {
			const joined = this.wires
				.filter(e => (key === 'ArrowRight' ? e.from : e.to) === a)
				.map(e => (key === 'ArrowRight' ? e.to : e.from))
			if (joined.length)
				return this.cards[joined.reduce((p, q) => (Math.abs(this.ys[q]! - y) < Math.abs(this.ys[p]! - y) ? q : p))]!.id
		}
		const sign = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1
		const n = this.nearest(
			x,
			y,
			side ? 0.35 : 2.5,
			i => i !== a && (side ? (this.xs[i]! - x) * sign > 4 : (this.ys[i]! - y) * sign > 4),
		)
		return n < 0 ? null : this.cards[n]!.id
	}
	protected nearest(x: number, y: number, weight: number, fits: (i: number) => boolean) {
		let best = -1,
			least = Infinity
		for (let i = 0; i < this.cards.length; i++) {
			if (!fits(i)) continue
			const d =
				x === -Infinity
					? this.xs[i]! * 4 + this.ys[i]!
					: weight < 1
						? Math.abs(this.xs[i]! - x) * weight + Math.abs(this.ys[i]! - y)
						: Math.abs(this.xs[i]! - x) * weight + Math.abs(this.ys[i]! - y)
			if (d < least) {
				least = d
				best = i
			}
		}
		return best
	}

	under(px: number, py: number): string | null {
		return this.cards[this.at(px, py)]?.id ?? null
	}
	protected at(px: number, py: number): number {
		const { x, y } = this.toWorld(px, py)
		for (let i = this.cards.length - 1; i >= 0; i--)
			if (x >= this.xs[i]! - 6 && x <= this.xs[i]! + W + 6 && y >= this.ys[i]! && y <= this.ys[i]! + H) return i
		return -1
	}
	protected onPort(n: number, px: number, py: number) {
		const { x, y } = this.toWorld(px, py),
			r = Math.max(9, 9 / this.scale)
		return Math.hypot(x - this.xs[n]! - W, y - this.ys[n]! - H / 2) <= r
	}
	protected mini() {
		return {
			x: this.w - MINI.w - MINI.pad,
			y: this.h - MINI.h - MINI.pad,
			s: Math.min((MINI.w - 14) / this.box.w, (MINI.h - 14) / this.box.h),
		}
	}
	protected get hasMini() {
		return this.cards.length > 4 && this.w > 520 && this.h > 300
	}
	protected inMini(x: number, y: number) {
		const m = this.mini()
		return this.hasMini && x >= m.x && y >= m.y && x <= m.x + MINI.w && y <= m.y + MINI.h
	}
}
