import { describe, expect, it } from 'vitest'
import type { Peer } from '@/api/ops'
import { enrolLine, grouped, sorted } from '@/ops/peers'

describe('peers', () => {
	it('show a key in groups of four that are the key', () => {
		const key = 'Q2x1c3RlcnMgYXJlIG5vdCBjb3dzLg'
		expect(grouped(key).slice(0, 2)).toEqual(['Q2x1', 'c3Rl'])
		expect(grouped(key).join('')).toBe(key)
		expect(grouped('')).toEqual([])
	})
	it('stand with who waits for somebody first, who is let in no more last', () => {
		const all = (
			[
				['b', 'active'],
				['a', 'revoked'],
				['c', 'pending'],
				['a', 'active'],
			] as const
		).map(([peer, state]) => ({ peer, state }) as Peer)
		expect(sorted(all).map(x => `${x.peer} ${x.state}`)).toEqual(['c pending', 'a active', 'b active', 'a revoked'])
	})
	it('enrol by the program of their kind; a client has none', () => {
		expect(enrolLine('face', '7-x')).toBe('sirdar-cgi -c /etc/sirdar/cgi.yaml enrol 7-x')
		expect(enrolLine('client', '7-x')).toBe('')
	})
})
