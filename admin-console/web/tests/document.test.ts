import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, nextTick } from 'vue'
import { api } from '@/api/client'
import { useDocument } from '@/ops/document'

vi.mock('@/ui/bulk', () => ({ follow: () => {} }))
const scope = effectScope()
const preview = vi.spyOn(api, 'preview')
const ask = vi.spyOn(api, 'ask')
const versions = () => preview.mock.calls.map(c => (c[1] as { documents: { version: number }[] }).documents[0]!.version)

describe('a document that is edited as text', () => {
	let doc: ReturnType<typeof useDocument>
	beforeEach(() => {
		vi.useFakeTimers()
		preview.mockReset().mockResolvedValue({} as never)
		ask.mockReset().mockResolvedValue({ id: '7', state: 'done', kind: 'apply' } as never)
		doc = scope.run(() => useDocument(() => 'shop'))!
		doc.take('a', 4)
	})
	afterEach(() => vi.useRealTimers())
	async function type(text: string) {
		doc.text.value = text
		await nextTick()
	}
	it('asks for the word of the server a moment after the last key', async () => {
		await type('ab')
		await type('abc')
		await vi.advanceTimersByTimeAsync(1000)
		expect(versions()).toEqual([4])
	})
	it('is not judged any more by the version that a save has passed', async () => {
		await type('ab')
		expect(await doc.save()).toBe(true)
		await vi.advanceTimersByTimeAsync(1000)
		await type('abc')
		await vi.advanceTimersByTimeAsync(1000)
		expect(versions()).toEqual([])
		doc.take('ab', 5)
		expect([doc.text.value, doc.dirty.value]).toEqual(['abc', true])
		await vi.advanceTimersByTimeAsync(1000)
		expect(versions()).toEqual([5])
	})
	it('is saved after the check that is under way has its answer', async () => {
		let answer = () => {}
		preview.mockReturnValue(new Promise(done => (answer = () => done({} as never))) as never)
		await type('ab')
		await vi.advanceTimersByTimeAsync(400)
		const saved = doc.save()
		await vi.advanceTimersByTimeAsync(1000)
		expect(ask).not.toHaveBeenCalled()
		answer()
		expect(await saved).toBe(true)
		expect(ask).toHaveBeenCalledOnce()
	})
})
