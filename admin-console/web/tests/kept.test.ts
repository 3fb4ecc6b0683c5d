/* Settings that follow a person: two browsers that change theirs apart come to the same, whichever way they meet. */
import { describe, expect, it } from 'vitest'
import { differs, first, fit, merge, note, shown, type Followed, type Kept } from '@/domain/kept'

const usual: Followed = { theme: 'system', lang: 'en', zone: 'UTC', density: 'standard', views: [], tour: false }
const running = { name: 'what runs', q: 'state:Running' },
	failed = { name: 'failed', q: 'state:failed' }
/* A browser: what it knows and how it is set. */
function browser(kept: Kept = {}) {
	let now = structuredClone(usual)
	return {
		get kept() {
			return kept
		},
		get now() {
			return now
		},
		change(what: Partial<Followed>, at: number) {
			const before = now
			now = { ...now, ...structuredClone(what) }
			kept = note(kept, before, now, at)
		},
		hear(other: Kept) {
			kept = merge(kept, other)
			now = { ...now, ...shown(kept) }
		},
	}
}

describe('what follows a person', () => {
	it('is nothing before anything is set, and only what was', () => {
		expect(first(usual, usual)).toEqual({})
		const a = browser()
		a.change({ theme: 'dark' }, 5)
		expect(a.kept).toEqual({ theme: { value: 'dark', at: 5 } })
		expect(shown(a.kept)).toEqual({ theme: 'dark' })
	})
	it('of two browsers that did not see each other is both', () => {
		const a = browser(),
			b = browser()
		a.change({ theme: 'dark', views: [running] }, 10)
		b.change({ zone: 'Asia/Shanghai', views: [failed] }, 11)
		const theirs = b.kept
		b.hear(a.kept)
		a.hear(theirs)
		expect(a.now).toEqual({ ...usual, theme: 'dark', zone: 'Asia/Shanghai', views: [failed, running] })
		expect(b.now).toEqual(a.now)
		expect(differs(a.kept, b.kept)).toBe(false)
	})
	it('of one thing set twice is the later, whichever way they meet', () => {
		const a: Kept = { theme: { value: 'dark', at: 3 }, lang: { value: 'en', at: 9 } },
			b: Kept = { theme: { value: 'light', at: 4 }, lang: { value: 'zh', at: 9 } }
		expect(merge(a, b)).toEqual(merge(b, a))
		expect(shown(merge(a, b))).toEqual({ theme: 'light', lang: 'zh' })
	})
	it('a view that was forgotten stays so, and may come again', () => {
		const a = browser(),
			b = browser()
		a.change({ views: [running] }, 1)
		b.hear(a.kept)
		b.change({ views: [] }, 2)
		a.hear(b.kept)
		expect(a.now.views).toEqual([])
		a.change({ views: [running] }, 3)
		b.hear(a.kept)
		expect(b.now.views).toEqual([running])
	})
	it('views stand with the newest first, also when two come at once', () => {
		const a = browser()
		a.change({ views: [failed, running] }, 7)
		expect(shown(a.kept).views).toEqual([failed, running])
		a.change({ views: [{ name: 'x', q: 'x' }, failed, running] }, 9)
		expect(shown(a.kept).views!.map(v => v.q)).toEqual(['x', 'state:failed', 'state:Running'])
	})
	it('what another tab has noted is not noted again', () => {
		const a = browser()
		a.change({ theme: 'dark', views: [running] }, 5)
		expect(note(a.kept, usual, a.now, 6)).toBe(a.kept)
	})
	it('what it does not understand it leaves alone and carries along', () => {
		const newer = { columns: { value: ['a'], at: 4 }, theme: { value: 'purple', at: 4 }, odd: 3 }
		const k = merge(newer, { density: { value: 'compact', at: 1 } })
		expect(k).toMatchObject(newer)
		expect(shown(k)).toEqual({ density: 'compact' })
		for (const broken of [{ views: 'x' }, { views: [3, { q: 1 }] }, { zone: { value: 'Nowhere/At all', at: 1 } }])
			expect(shown(merge(broken as Kept, {})).zone).toBeUndefined()
	})
	it('always fits: the forgotten go first, then the oldest', () => {
		const views = Array.from({ length: 150 }, (_, n) => ({
			name: 'n'.repeat(450),
			q: String(n).padStart(450, 'q'),
			at: n + 1,
			...(n % 2 ? { gone: true as const } : {}),
		}))
		const k = fit(merge({ views, theme: { value: 'dark', at: 1 } }, {}))
		expect(new TextEncoder().encode(JSON.stringify(k)).length).toBeLessThan(32768)
		const alive = shown(k).views!
		expect(alive).toHaveLength(20)
		expect(alive[0]!.q.endsWith('148')).toBe(true)
		expect(k.theme).toBeDefined()
	})
	it('is text the server takes: no control characters, no question without end', () => {
		const a = browser()
		a.change(
			{
				views: [
					{ name: 'a\tb\u0000', q: 'x\ny' },
					{ name: 'long', q: 'q'.repeat(501) },
				],
			},
			1,
		)
		expect(a.kept.views).toEqual([{ name: 'a b ', q: 'x y', at: 1 }])
	})
	it('what a browser had before is older than all that is kept', () => {
		const had = first({ ...usual, theme: 'dark', views: [running] }, usual)
		expect(shown(merge(had, { theme: { value: 'light', at: 2 } }))).toEqual({ theme: 'light', views: [running] })
	})
})
