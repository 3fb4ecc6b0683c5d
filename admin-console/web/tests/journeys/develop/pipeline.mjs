// Pipelines in the editor: steps in a row with two ends, drawn by mouse, then by keyboard alone.
import { api, axe, command, facts, is, open, page, prefer, shot } from '../kit.mjs'
import { card, drawing, named, pick, saveAs, say, settledOn, side, wireUp } from '../hands.mjs'

const drop = async (type, at) =>
	page.locator(`.palette-type:has-text("${type}")`).dragTo(drawing(), { targetPosition: { x: at.x, y: at.y } })
const stands = id => page.waitForFunction(id => document.querySelector('canvas.graph')?.view.place(id), id)
/* All of it in sight: a card beyond the edge is under no mouse. */
async function whole() {
	await page.click('.canvas-tools [aria-label^="Fit"]')
	await page.evaluate(() => new Promise(requestAnimationFrame))
}
const beside = async (id, by) => {
	await stands(id)
	await whole()
	const p = await card(id)
	return { x: p.x + by, y: p.y }
}
async function call(name) {
	await page.waitForSelector('.inspector #ed-name')
	await page.fill('#ed-name', name)
	await page.press('#ed-name', 'Enter')
	await page.waitForSelector(`.inspector h2:text-is("${name}")`)
}
const state = async (task, want) => {
	await open('/ops/t?q=' + encodeURIComponent(`task:${task} date:${facts.last}`))
	await page.waitForSelector(`.list-row[data-state=${want}]`)
}

export default {
	'a pipeline is drawn by mouse, its condition chosen, saved and run: the branch not taken is skipped': async () => {
		await open('/new?project=lab')
		await page.waitForSelector('.palette-type:has-text("Shell")')
		await page.click('[data-kind]')
		await page.waitForSelector('.inspector h2:text-is("Pipeline")')
		await say('Pipeline name', 'piped')
		await say('First date', facts.days[6])
		await drop('Nothing', { x: 300, y: 300 })
		await call('fetch')
		await drop('Shell', await beside('fetch', 140))
		await call('clean')
		await drop('Nothing', await beside('fetch', -90))
		await call('load')
		/* It was dropped before the first; a wire says what it follows. */
		await whole()
		await wireUp('clean', 'load')
		await drop('Nothing', await beside('failed', 0))
		await page.waitForSelector('.inspector h2:text-is("failed")')
		await drop('Nothing', await beside('finished', 0))
		await page.waitForSelector('.inspector h2:text-is("finished")')
		await whole()
		await pick('clean')
		await side('Script')
		await page.locator('.script-tab .cm-content').click()
		await page.keyboard.type('exit 3')
		await settledOn('No problems')
		/* No step is strong: `failed` could never run, the server says so, and the problem leads there. */
		await whole()
		await pick('failed')
		await side('Order')
		for (const name of ['fetch', 'clean', 'load']) await page.uncheck(`.inspector label:has-text("${name}") input`)
		await settledOn('problem')
		await whole()
		await pick('fetch')
		await page.click('[data-problems]')
		await page.click('.problems button.problem')
		await page.waitForSelector('.inspector h2:text-is("failed")')
		await side('Order')
		await page.waitForSelector('.inspector [role=alert]:has-text("strong")')
		for (const name of ['fetch', 'load']) await page.check(`.inspector label:has-text("${name}") input`)
		await settledOn('No problems')
		await whole()
		await pick('clean')
		await side('Order')
		await page.waitForSelector('.inspector .field:has(label:text-is("If clean fails")) select >> nth=0')
		await axe('the order of a pipeline')
		await shot('editor-pipeline')
		await page.click('.editor-bar [role=tab]:has-text("YAML")')
		await page.waitForSelector('.editor-yaml .cm-content:has-text("dependence: weak")')
		await page.click('.editor-bar [role=tab]:has-text("List")')
		await page.waitForSelector('.task-rows .task-row >> nth=4')
		await axe('the list of a pipeline')
		await page.click('.editor-bar [role=tab]:has-text("Canvas")')
		await stands('load')
		await saveAs('first pipeline', 1)
		const text = (await api('workflows/lab/piped')).document
		is('the order and the condition: ' + text, /fetch[^]*clean[^]*dependence: weak[^]*load/.test(text))
		await command('backfill', { selection: { workflow: 'lab/piped', from: facts.last, to: facts.last } })
		/* The weak step failed, so what follows it runs all the same; no strong one did, so `failed` is skipped. */
		await state('lab/piped/clean', 'StopSchedule')
		await state('lab/piped/finished', 'Succ')
		await state('lab/piped/failed', 'Skipped')
	},
	'a pipeline by keyboard alone: added, moved, ended, saved; and in Chinese': async () => {
		await open('/new?project=lab')
		await page.waitForSelector('.palette-type')
		await page.focus('[data-kind]')
		await page.keyboard.press('Enter')
		await page.waitForFunction(() => document.activeElement?.tagName === 'CANVAS')
		await page.keyboard.press('F2')
		await page.waitForFunction(() => document.activeElement?.closest('.inspector') !== null)
		await page.keyboard.press('Control+a')
		await page.keyboard.type('keyed')
		await page.keyboard.press('Escape')
		for (const name of ['two', 'one']) {
			await page.keyboard.press('a')
			await page.waitForSelector('.palette-item')
			await page.keyboard.type('noth')
			await page.keyboard.press('Enter')
			await named(name)
			await page.waitForFunction(() => document.activeElement?.tagName === 'CANVAS')
		}
		await page.keyboard.press('Shift+ArrowLeft')
		await page.keyboard.press('ArrowRight')
		await page.waitForSelector('.inspector h2:text-is("two")')
		await page.keyboard.press('ArrowRight')
		await page.waitForSelector('.inspector h2:text-matches("^(finished|failed)$")')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.palette-item')
		await page.keyboard.type('noth')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.inspector #ed-name')
		await settledOn('No problems')
		await saveAs('by keyboard', 1)
		await page.waitForURL(/\/w\/lab\/keyed\/edit/)
		const text = (await api('workflows/lab/keyed')).document
		is('as it was typed: ' + text, /one[^]*two/.test(text) && /\n(finished|failed):/.test(text))
		await prefer({ lang: 'zh' })
		await open('/w/lab/keyed/edit')
		await pick('one')
		await page.click('.inspector [role=tab]:has-text("顺序")')
		await page.waitForSelector('.inspector .field:has-text("one 失败时")')
		await axe('a pipeline in Chinese')
		await shot('editor-pipeline-zh')
	},
}
