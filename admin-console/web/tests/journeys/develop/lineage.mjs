// What feeds a workflow and what it feeds, across workflows, level by level.
import { axe, command, is, open, page, shot } from '../kit.mjs'

const text = (name, needs) => `workflow: ${name}
project: lineage
timezone: UTC
start_date: 2026-11-01
defaults: {cycle: day, type: noop, catchup: {mode: none}}
tasks:
  first: {needs: [${needs}]}
  last: {needs: [first]}
`

export default {
	'lineage goes from a workflow outwards, by mouse, by keys and by address': async () => {
		await open('/')
		const chain = [
			['raw', ''],
			['clean', 'lineage/raw/last'],
			['wide', 'lineage/clean/last'],
			['board', 'lineage/wide/last'],
		]
		for (const [name, needs] of chain)
			await command('apply', { documents: [{ name: name + '.yaml', text: text(name, needs) }] })
		await open('/l?of=lineage/clean&up=1&down=1')
		await page.waitForSelector('.task-side h2:text-is("lineage/clean")')
		is('one level each way', (await page.locator('canvas.graph').getAttribute('aria-label')).includes('3 nodes'))
		await axe('lineage')
		await shot('lineage')
		await page.locator('canvas.graph').focus()
		await page.keyboard.press('ArrowRight')
		await page.waitForSelector('.task-side h2:text-is("lineage/wide")')
		await page.click('[data-from]')
		await page.waitForURL(/of=lineage\/wide|of=lineage%2Fwide/)
		await page.waitForSelector('canvas.graph[aria-label*="lineage/wide"]')
		await page.locator('select.level-count').first().selectOption('2')
		await page.waitForSelector('canvas.graph[aria-label*="4 nodes"]')
		await page.fill('.lineage-search input', 'lineage/board/last')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.task-side h2:text-is("lineage/board/last")')
	},
}
