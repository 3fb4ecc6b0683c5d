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
		await page.waitForSelector('.app')
		await page.waitForSelector('.live:not(.wait):not(.stale)')
		provoke()
	},
	'an ended session asks again and keeps the place': async () => {
		provoke(/401/, /403/)
		await open('/ops/t?q=state:Succ')
		await page.waitForSelector('.vrow')
		await browser.clearCookies()
		await page.fill('[data-search]', 'state:Running')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.login.over')
		await page.fill('#password', facts.password)
		await page.click('button[type=submit]')
		await page.waitForSelector('.login', { state: 'detached' })
		is('the same page', page.url().includes('state:Running') || page.url().includes('state%3ARunning'))
		await page.waitForSelector('[data-count]:has-text("0 instances"), .vrow')
		provoke()
	},
	'nine tabs have one stream': async () => {
		const tabs = []
		for (let i = 0; i < 8; i++) { const t = await browser.newPage(); await t.goto(facts.url + '/ui/'); tabs.push(t) }
		for (const t of tabs) await t.waitForSelector('.live:not(.wait):not(.stale)')
		/* Streams of pages that were left end when the server next writes to them. */
		await page.waitForFunction(async () => {
			const text = await (await fetch('/metrics')).text()
			return /streams\S*\s+1\b/.test(text.split('\n').filter((l) => !l.startsWith('#')).join('\n'))
		}, undefined, { polling: 1000 })
		for (const t of tabs) await t.close()
	},
}
