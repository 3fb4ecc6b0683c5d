// Tasks by runs: a cell to its log, a block to an act, live, by mouse and by keys.
import { axe, facts, is, open, page, shot } from '../kit.mjs'

const canvas = () => page.locator('.grid-canvas')
const said = () => page.locator('.grid-left [aria-live]').textContent()
async function at(r, c) {
	await page.waitForFunction(() => document.querySelector('.grid-canvas')?.view?.draws > 0)
	const b = await canvas().boundingBox(),
		p = await page.evaluate(([r, c]) => document.querySelector('.grid-canvas').view.place({ r, c }), [r, c])
	return [b.x + p.x, b.y + p.y]
}

export default {
	'the grid leads from a failed cell to its log': async () => {
		await open('/w/retail/trade_daily')
		await page.click('a[href$="/w/retail/trade_daily/grid"]')
		await page.waitForSelector(`.grid-legend li:has-text("Failed")`)
		await shot('grid')
		await page.fill('.grid-page [data-search]', 'dwd_pay_refund')
		await page.waitForURL(/q=dwd_pay_refund/)
		await page.mouse.click(...(await at(1, facts.days.length - 1)))
		await page.waitForSelector('.cell-panel .log-view .line:has-text("Duplicate key")')
		is(
			'the cell is in the address',
			new URL(page.url()).searchParams.get('cell') === `dwd_pay_refund_di@${facts.last}T00:00:00Z`,
		)
		await axe('a cell of the grid')
		await page.reload()
		await page.waitForSelector('.cell-panel .log-view .line:has-text("Duplicate key")')
		await page.click('.cell-panel [data-run]')
		await page.waitForURL(new RegExp(`/r/retail/trade_daily/${facts.last}`))
	},
	'a block of cells is dragged, or chosen by keys, and leads to the plan of an act': async () => {
		await open('/w/retail/trade_daily/grid')
		const from = await at(2, 3),
			to = await at(4, 6)
		await page.mouse.move(...from)
		await page.mouse.down()
		await page.mouse.move(...to, { steps: 4 })
		await page.mouse.up()
		await page.waitForSelector('.bulk-bar:has-text("3 tasks × 4 runs")')
		await shot('grid-block')
		await axe('a block of the grid')
		await page.click('.bulk-bar [data-act=redo]')
		await page.waitForSelector('.dialog [data-go]:not([disabled]):has-text("12")')
		await page.keyboard.press('Escape')
		await canvas().focus()
		await page.keyboard.press('Escape')
		await page.waitForSelector('.bulk-bar', { state: 'detached' })
		for (const k of ['End', 'ArrowLeft', 'x', 'ArrowLeft', 'ArrowDown', 'x']) await page.keyboard.press(k)
		await page.waitForSelector('.bulk-bar:has-text("2 runs")')
		await page.keyboard.press('Escape')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.cell-panel .instance-panel')
		is('what the cursor is on is said', /, 2026-\d\d-\d\d, /.test(await said()))
	},
}
