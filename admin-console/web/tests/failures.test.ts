/* The page of failures: classes with how many, bars that are seen. */
import { describe, expect, it } from 'vitest'
import { bars, classes, type Cause } from '@/failures/state'

const cause = (name: string, instances: number) => ({ class: name, instances }) as Cause

describe('failures by cause', () => {
	it('counts instances of each class, most first', () => {
		expect(classes([cause('user', 2), cause('target', 17), cause('user', 3), cause('data', 5)])).toEqual([
			{ class: 'target', n: 17 },
			{ class: 'data', n: 5 },
			{ class: 'user', n: 5 },
		])
		expect(classes([])).toEqual([])
	})
	it('shows a bar for one among many, and a line for none', () => {
		expect(bars([0, 1, 1000])).toEqual([1, 3, 20])
		expect(bars([0, 0])).toEqual([1, 1])
	})
})
