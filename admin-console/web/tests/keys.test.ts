import { effectScope } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

let down: (e: unknown) => void = () => {}
let dialog = false
vi.stubGlobal('addEventListener', (_: string, f: (e: unknown) => void) => {
	down = f
})
vi.stubGlobal('document', { querySelector: () => (dialog ? {} : null) })
const { useKeys } = await import('@/ui/keys')

/* Where the focus is: a selector of each that encloses it. */
const within = (...these: string[]) => ({
	closest: (sel: string) => (sel.split(', ').some(s => these.includes(s)) ? {} : null),
})

const list = { Enter: vi.fn(), j: vi.fn(), ArrowDown: vi.fn(), 'mod+k': vi.fn() }
let scope = effectScope()

/* -> did the page take the key from what has the focus? */
function press(key: string, target: object, more: object = {}) {
	const preventDefault = vi.fn()
	down({ key, target, preventDefault, ...more })
	return preventDefault.mock.calls.length > 0
}

beforeEach(() => {
	dialog = false
	scope = effectScope()
	scope.run(() => useKeys(list))
})
afterEach(() => {
	scope.stop()
	vi.clearAllMocks()
})

describe('keys of the page', () => {
	it.each(['button', 'a[href]', 'summary', '[role=tab]'])('leave Enter to a focused %s', focused => {
		expect(press('Enter', within(focused))).toBe(false)
		expect(list.Enter).not.toHaveBeenCalled()
	})
	it('are there for the list itself, and a focused row moves on', () => {
		expect(press('Enter', within())).toBe(true)
		expect(press('j', within('button'))).toBe(true)
		expect(list.Enter).toHaveBeenCalledOnce()
		expect(list.j).toHaveBeenCalledOnce()
	})
	it('leave arrows and letters to an open menu, and everything to the form of who was signed out', () => {
		expect(press('ArrowDown', within('[role=menu]'))).toBe(false)
		expect(press('j', within('[role=listbox]'))).toBe(false)
		expect(press('j', within('.login'))).toBe(false)
		expect(list.ArrowDown).not.toHaveBeenCalled()
		expect(list.j).not.toHaveBeenCalled()
	})
	it('with Ctrl work everywhere, others not behind a dialog or while one types', () => {
		expect(press('k', within('button', '[role=menu]'), { ctrlKey: true })).toBe(true)
		expect(press('j', within('input'))).toBe(false)
		dialog = true
		expect(press('Enter', within())).toBe(false)
		expect(press('j', within())).toBe(false)
	})
})
