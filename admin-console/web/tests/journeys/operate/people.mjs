// People and what they may.
import { browser, facts, is, open, page, provoke, shot } from '../kit.mjs'

export default {
	'a user is made, signs in, and may do nothing': async () => {
		provoke(/401/, /403/)
		await open('/people')
		await page.click('.phead .btn.pri')
		await page.fill('#p-user', 'vera')
		await page.fill('#p-name', 'Vera Visitor')
		await page.fill('#p-pass', 'only to look around')
		await page.click('.dlg button[type=submit]')
		await page.waitForSelector('.tbl .nm:has-text("vera")')
		await shot('people')
		await open('/ops/audit')
		await page.waitForSelector('.tbl .tag:has-text("user-set")')
		is('no password in it', !(await page.innerText('main')).includes('argon2id'))
		await shot('audit')
		await browser.clearCookies()
		await page.goto(facts.url + '/ui/')
		await page.fill('#user', 'vera')
		await page.fill('#password', 'only to look around')
		await page.click('button[type=submit]')
		await page.waitForSelector('.app')
		is('nothing of an operator to go to', await page.locator('a[href$="/ops/audit"], a[href$="/people"]').count() === 0)
		for (const path of ['/people', '/ops/audit']) {
			await open(path)
			await page.waitForSelector('text=/needs the role/')
		}
		await open('/ops/t?q=state:Succ')
		await page.waitForSelector('.vrow')
		await page.locator('.vrow').first().click()
		is('no act is offered', await page.locator('.dlg button:has-text("Redo"), .bulkbar button').count() === 0)
		await browser.clearCookies()
		await page.goto(facts.url + '/ui/')
		await page.fill('#user', 'admin')
		await page.fill('#password', facts.password)
		await page.click('button[type=submit]')
		await page.waitForSelector('.app')
		provoke()
	},
}
