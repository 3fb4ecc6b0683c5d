import { describe, expect, it } from 'vitest'
import { compare, follow, hashOf, type Row } from '@/domain/audit'

const rows = (n: number): Row[] => {
	const out: Row[] = []
	let before = ''
	for (let i = 1; i <= n; i++) {
		const r: Row = {
			id: String(i),
			at_us: String(1_700_000_000_000_000 + i),
			actor: '李雷',
			action: 'pool-set',
			object: 'dw',
			detail: '{"size":3}',
			hash: '',
		}
		r.hash = before = hashOf(before, r)
		out.unshift(r)
	}
	return out
}
describe('the chain of the audit', () => {
	it('has the sums that the server and `sirdar audit verify` make', () => {
		const row = { actor: '李雷', action: 'pool-set', object: 'dw', detail: '{"size":3}' }
		expect(hashOf('', { id: '7', at_us: '1700000000000007', ...row, hash: '' })).toBe(
			'06d702e4c6075347bea203ebe8ce6816092eabe7f25ed6fefba324bedaf70231',
		)
	})
	it('is proved row by row', () => {
		expect(follow(rows(6))).toEqual({ proved: 5, broken: null, missing: null })
	})
	it('shows a row that was changed, and one that was taken out', () => {
		const all = rows(6)
		expect(follow(all.map(r => (r.id === '4' ? { ...r, actor: 'somebody' } : r)))).toMatchObject({
			broken: '4',
			proved: 2,
		})
		expect(follow(all.filter(r => r.id !== '3'))).toMatchObject({ missing: '4', proved: 2 })
	})
})

describe('before and after', () => {
	it('are compared by lines, with a little around them', () => {
		const before = Array.from({ length: 20 }, (_, i) => 'l' + i).join('\n'),
			after = before.replace('l10', 'L10').replace('l15\n', '')
		const got = compare(before, after, 1)
		expect(got.map(l => (l ? l.kind[0] + l.text : '…'))).toEqual([
			'…',
			'sl9',
			'gl10',
			'nL10',
			'sl11',
			'…',
			'sl14',
			'gl15',
			'sl16',
			'…',
		])
		expect(got.find(l => l?.text === 'l16')).toMatchObject({ a: 17, b: 16 })
		expect(compare('a\n', 'a\n')).toEqual([null])
		expect(compare('', 'a\nb\n').filter(l => l?.kind === 'new').length).toBe(2)
	})
})
