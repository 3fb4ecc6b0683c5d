import { describe, expect, it } from 'vitest'
import { isDay, moved, months, weeksOf } from '@/domain/month'

describe('a month', () => {
	it('has whole weeks that begin on Monday', () => {
		const weeks = weeksOf('2026-11-24')
		expect(weeks[0]![0]).toBe('2026-10-26')
		expect(weeks.at(-1)!.at(-1)).toBe('2026-12-06')
		expect(weeks.every(w => w.length === 7)).toBe(true)
		expect(weeksOf('2027-02-10').length).toBe(4)
		expect(weeksOf('2026-08-31').length).toBe(6)
	})
	it('is left by keys, and its last day stays one', () => {
		expect(moved('2026-11-01', 'ArrowLeft')).toBe('2026-10-31')
		expect(moved('2026-11-24', 'ArrowDown')).toBe('2026-12-01')
		expect(moved('2026-11-24', 'Home')).toBe('2026-11-23')
		expect(moved('2026-11-24', 'End')).toBe('2026-11-29')
		expect(moved('2026-12-31', 'PageUp')).toBe('2026-11-30')
		expect(months('2028-01-31', 1)).toBe('2028-02-29')
		expect(moved('2026-11-24', 'x')).toBeUndefined()
	})
	it('knows a day from what else people write', () => {
		expect(isDay('2026-11-24')).toBe(true)
		expect(isDay('2026-02-30')).toBe(false)
		expect(isDay('yesterday')).toBe(false)
	})
})
