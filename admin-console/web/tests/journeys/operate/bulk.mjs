// Acts on many: plan, reason, outcome, and what follows.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axe, browser, facts, is, open, page, run, shot } from '../kit.mjs'

export default {
	'bulk: freeze what waits, with plan, reason and outcome': async () => {
		await open('/ops/t?q=' + encodeURIComponent('task:retail/trade_daily/* state:Ready'))
		await page.waitForSelector('.list-row[data-state=Ready]')
		const n = await page.locator('.list-row').count()
		await page.click('.list-head .checkbox')
		await page.click('[data-act=freeze]')
		await page.waitForSelector('[data-go]:not([disabled])')
		is('the button repeats the number', (await page.innerText('[data-go]')).includes(String(n)))
		await page.fill('#breason', 'source is late, ticket 4821')
		await shot('bulk')
		await axe('the bulk dialog')
		await page.click('[data-go]')
		await page.waitForSelector(`[data-outcome]:has-text("${n} done")`)
		await page.waitForSelector('.list-row .badge:has-text("Frozen")')
	},
	'bulk: success by force of the failed, and what follows goes on': async () => {
		await open('/ops/t?q=' + encodeURIComponent('task:retail/trade_daily/* state:failed'))
		await page.waitForSelector('.list-row[data-state=StopSchedule]')
		await page.click('.list-row .checkbox')
		await page.click('[data-act=force-success]')
		await page.click('[data-go]:not([disabled])')
		await page.waitForSelector('[data-outcome]:has-text("1 done")')
		await open('/ops/t?q=' + encodeURIComponent('task:retail/trade_daily/dwd_pay_refund_di date:' + facts.last))
		await page.waitForSelector('.list-row .badge:has-text("Set to success")')
		await open('/ops/commands')
		await page.waitForSelector('tr:has-text("to success, without its having run well")')
		await page.click('tr:has-text("froze"):has-text("because source is late") a')
		await page.waitForSelector('.page-head:has-text("source is late, ticket 4821")')
		await shot('command')
	},
	'bulk: unfreeze by the whole query; the page follows by itself': async () => {
		const other = await browser.newPage()
		await other.goto(facts.url + '/ui' + run)
		await other.waitForSelector('.title-line .inline .state-frozen, .title-line .state-frozen')
		await open('/ops/t?q=' + encodeURIComponent('task:retail/trade_daily/* state:waiting,queued'))
		await page.waitForSelector('.list-row .badge:has-text("Frozen")')
		await page.keyboard.press('a')
		await page.click('[data-act=unfreeze]')
		await page.click('[data-go]:not([disabled])')
		await page.waitForSelector('[data-outcome]:has-text("done")')
		writeFileSync(join(facts.folder, 'go'), '')
		await other.bringToFront()
		await other.waitForSelector('.run-head .badge:has-text("Set to success")')
		await other.close()
	},
}
