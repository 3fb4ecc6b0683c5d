import { expect, test } from 'vitest'
import { argsWith } from '@/ui/ask'

const online = { kind: 'online', args: { selection: {} }, title: '', facts: [], verb: '' }

test('a command is sent with its date and its reason, and without what was left empty', () => {
	expect(argsWith({ ...online, dated: true }, ' 2026-03-01 ', 'why')).toEqual({
		selection: {},
		from: '2026-03-01',
		message: 'why',
	})
	expect(argsWith({ ...online, dated: true }, ' ', '')).toEqual({ selection: {} })
	expect(argsWith(online, '2026-03-01')).toEqual({ selection: {} })
})
