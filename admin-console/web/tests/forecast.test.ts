import { describe, expect, it } from 'vitest'
import { axis, count, order, spare, spareSlow, type Promised } from '@/domain/forecast'

const b = (state: Promised['state'], committed: string, over = false, expected: string | null = null): Promised => ({
	state,
	committed: `2026-03-01T${committed}:00Z`,
	over,
	expected: expected && `2026-03-01T${expected}:00Z`,
	expected_slow: expected && `2026-03-01T${expected}:30Z`,
})

describe('promises', () => {
	const all = [
		b('safe', '06:00', true),
		b('safe', '09:00', false, '08:30'),
		b('at_risk', '08:00'),
		b('breached', '05:00'),
		b('breached', '04:00', true),
	]
	it('stand with the broken and open ones first, and are counted', () => {
		expect(order(all).map(x => [x.state, x.over])).toEqual([
			['breached', false],
			['at_risk', false],
			['safe', false],
			['breached', true],
			['safe', true],
		])
		expect(count(all)).toEqual({ breached: 2, at_risk: 1, safe: 1, kept: 1 })
	})
	it('say what is to spare, or that nobody knows', () => {
		expect(spare(all[1]!)).toBe(30 * 60_000)
		expect(spareSlow(all[1]!)).toBe(29.5 * 60_000)
		expect(spare(all[2]!)).toBe(null)
	})
	it('fit one axis with now in it', () => {
		const now = Date.parse('2026-03-01T07:00:00Z'),
			a = axis(
				all.map(x => x.committed),
				now,
			)
		expect(a.ticks.length).toBeGreaterThan(2)
		expect(a.ticks.length).toBeLessThan(10)
		for (const x of [...all.map(y => y.committed), now]) {
			expect(a.at(x)!).toBeGreaterThanOrEqual(0)
			expect(a.at(x)!).toBeLessThanOrEqual(100)
		}
		expect(a.at(null)).toBe(null)
		expect(axis([], now).ticks.length).toBeGreaterThan(0)
	})
})
