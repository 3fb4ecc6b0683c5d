import { createMemoryHistory, createRouter } from 'vue-router'
import { describe, expect, it } from 'vitest'
import { path } from '@/api/client'
import { EditorDoc } from '@/editor/doc'
import { nameRule } from '@/editor/parts'
import { score } from '@/domain/fuzzy'

const good = [
	'a',
	'_9',
	'汇总',
	'销售ETL日报',
	'売上データの集計',
	'매출',
	'Отчёт',
	'रिपोर्ट',
	'café',
	'〇八',
	'a-b.c_d',
	'汇'.repeat(21),
]
const bad = [
	'',
	'9a',
	'-a',
	'a b',
	'a/b',
	'a\u200bb',
	'a\u202eb',
	'日报！',
	'☃',
	'a%20b',
	'汇'.repeat(22),
	'x'.repeat(65),
	'\u0301a',
]

describe('names of any script', () => {
	it('are told from what is none while one types', () => {
		for (const n of good) expect(nameRule.test(n), n).toBe(true)
		for (const n of bad) expect(nameRule.test(n), JSON.stringify(n)).toBe(false)
	})

	it('stand in addresses of the API encoded once, slashes apart', () => {
		expect(path('零售/日报/汇总')).toBe('%E9%9B%B6%E5%94%AE/%E6%97%A5%E6%8A%A5/%E6%B1%87%E6%80%BB')
		expect(decodeURIComponent(path('零售/日报/汇总'))).toBe('零售/日报/汇总')
	})

	it('go through a route and come back', () => {
		const page = { template: '<p/>' }
		const router = createRouter({
			history: createMemoryHistory('/ui/'),
			routes: [
				{ path: '/w/:project/:workflow', component: page },
				{ path: '/r/:project/:workflow/:label', component: page },
			],
		})
		for (const at of ['/w/零售/日报', '/w/%E9%9B%B6%E5%94%AE/%E6%97%A5%E6%8A%A5']) {
			const to = router.resolve(at)
			expect(to.params).toEqual({ project: '零售', workflow: '日报' })
			expect(decodeURI(to.href)).toBe('/ui/w/零售/日报')
		}
		expect(router.resolve('/r/零售/日报/2026-03-01').params.workflow).toBe('日报')
	})

	it('are read, renamed and linked in the editor', () => {
		const d = new EditorDoc(
			'workflow: 日报\nproject: 零售\ntasks:\n  装载: {type: noop, cycle: day}\n  汇总: {type: noop, cycle: day, needs: [装载]}\n',
		)
		d.apply('rename', x => x.renameTask('装载', '抽取'))
		expect(d.text).toContain('needs: [抽取]')
		expect(d.text).toContain('抽取: {type: noop')
	})

	it('are found by some of their letters', () => {
		expect(score('汇总', '零售/日报/汇总')).toBeGreaterThan(0)
	})
})
