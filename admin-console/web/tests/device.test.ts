import { describe, expect, it, vi } from 'vitest'

vi.stubGlobal('matchMedia', () => ({ matches: false }))
vi.stubGlobal('addEventListener', () => {})
const { scriptOf } = await import('@/stores/device')

describe('an upgrade', () => {
	it('is seen by the script that the page names', () => {
		expect(
			scriptOf(
				'<script src="/ui/first.js"></script>\n<script type="module" crossorigin src="/ui/assets/index-B2.js"></script>',
			),
		).toBe('/ui/assets/index-B2.js')
		expect(scriptOf('<html>a proxy</html>')).toBe('')
	})
})
