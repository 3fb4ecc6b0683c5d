// Signing in, the end of a session, one stream for all tabs.
import { browser, facts, is, open, page, provoke, shot } from '../kit.mjs'

export default {
	'a wrong password is said, the right one leads in': async () => {
		provoke(/401/)
		await browser.clearCookies()
		await page.goto(facts.url + '/')
		is('the root leads to the console', new URL(page.url()).pathname === '/ui/')
		await page.fill('#password', 'not this')
		await page.click('button[type=submit]')
		await page.waitForSelector('#wrong')
		await shot('login')
		await page.fill('#password', facts.password)
		await page.click('button[type=submit]')
		await page.waitForSelector('.frame')
		await page.waitForSelector('.live:not(.wait):not(.stale)')
		provoke()
	},
	'an ended session asks again and keeps the place': async () => {
		provoke(/401/, /403/)
		await open('/ops/t?q=state:Succ')
		await page.waitForSelector('.list-row')
		await browser.clearCookies()
		await page.fill('[data-search]', 'state:Running')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.login.expired')
		await page.fill('#password', facts.password)
		await page.click('button[type=submit]')
		await page.waitForSelector('.login', { state: 'detached' })
		is('the same page', page.url().includes('state:Running') || page.url().includes('state%3ARunning'))
		await page.waitForSelector('[data-count]:has-text("0 instances"), .list-row')
		provoke()
	},
}
