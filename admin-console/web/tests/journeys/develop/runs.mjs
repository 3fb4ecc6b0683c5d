// What a person sees of yesterday: home, the list, a workflow, its run, logs, why one waits.
import { facts, is, open, page, run, shot } from '../kit.mjs'

export default {
	'home tells what fails, what runs, what is next': async () => {
		await open('/')
		await page.waitForSelector('.needs .name:has-text("dwd_pay_refund_di")')
		await page.waitForSelector('.next .name:has-text("dwd_log_click_di")')
		await page.waitForSelector('.table .name:has-text("retail/trade_daily")')
		is('ten squares', (await page.locator('tr:has-text("retail/trade_daily") .run-squares a').count()) === 10)
		await shot('home')
	},
	'from the list to the workflow to its last run': async () => {
		await open('/w')
		await page.fill('[data-search]', 'trade')
		await page.waitForURL(/q=trade/)
		await page.click('.table a.name:has-text("trade_daily")')
		await page.waitForSelector('canvas.graph')
		await shot('workflow')
		await page.click('[data-last]')
		await page.waitForURL(new RegExp(facts.last))
		await page.waitForSelector('.run-head .badge:has-text("Failed")')
	},
	'the run opens at what failed, its log at the error': async () => {
		await open(run)
		await page.waitForURL(/task=retail%2Ftrade_daily%2Fdwd_pay_refund_di|task=retail\/trade_daily\/dwd_pay_refund_di/)
		await page.waitForSelector('.log-view .line:has-text("Duplicate key")')
		is('colours are looks', (await page.locator('.log-view .ansi-red').count()) > 0)
		is(
			'what a job wrote stays text',
			(await page.locator('.log-view .line:has-text("<script>alert(1)</script>")').count()) === 1,
		)
		await page.fill('.log-find input', 'finished task 7.0')
		await page.waitForSelector('.log-view .line.found:has-text("task 7.0")')
		is('few lines are drawn', (await page.locator('.log-view .line').count()) < 90)
		await page.fill('.log-find input', '')
		await page.click('button[title="Next error"]')
		await page.waitForSelector('.log-view .line.found.error')
		await shot('run')
		const [file] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')])
		is('a file', (await file.failure()) === null)
	},
	'a run is read as graph by keys, as Gantt and as list': async () => {
		await open(run + '?task=retail/trade_daily/dwd_pay_refund_di')
		await page.waitForSelector('canvas.graph')
		await page.focus('canvas.graph')
		await page.keyboard.press('ArrowRight')
		await page.waitForURL(/dwd_refund_wide_di/)
		await page.keyboard.press('ArrowLeft')
		await page.waitForURL(/dwd_pay_refund_di|dwd_trade_order_di/)
		await page.click('[role=tab]:has-text("Gantt")')
		await page.waitForSelector('.gantt-bar')
		await shot('run-gantt')
		await page.click('[role=tab]:has-text("List")')
		await page.waitForSelector('.list-scroll tr:has-text("exp_gmv_mysql")')
	},
	'it says why one waits, and leads to what it waits for': async () => {
		await open(run + '?task=retail/trade_daily/dwd_refund_wide_di')
		await page.waitForSelector('.gates .shut [data-why]:has-text("dwd_pay_refund_di")')
		await page.waitForSelector('.chain .name:has-text("dwd_pay_refund_di")')
		await shot('why')
	},
	'a running job is followed': async () => {
		await open(run + '?task=retail/trade_daily/dwd_log_click_di')
		await page.waitForSelector('.log-view .line:has-text("still reading")')
		const before = await page.locator('.log-bar .digits').first().innerText()
		await page.waitForFunction(t => document.querySelector('.log-bar .digits')?.textContent !== t, before)
	},
}
