// The tour: offered once, six steps, by keys, in both languages, ended for good or begun again from the manual.
import { axe, is, open, page, prefer, shot, usual } from '../kit.mjs'

const step = n => page.waitForSelector(`.tour:has-text("Step ${n} of 6")`)
const focused = () => page.waitForFunction(() => document.activeElement?.matches('.tour'))

export default {
	'the tour is offered once, goes six steps by keys and is remembered': async () => {
		await open('/')
		await page.evaluate(() => localStorage.setItem('sirdar-tour', 'on'))
		await prefer({ tour: false })
		await page.reload()
		await page.waitForSelector('[data-tour-offer]')
		await axe('the offer of the tour')
		await page.focus('[data-tour-begin]')
		await page.keyboard.press('Enter')
		await step(1)
		await focused()
		await page.waitForSelector('.tour-ring')
		is(
			'nothing moves for who wants no motion',
			(await page.evaluate(() => getComputedStyle(document.querySelector('.tour-ring')).transitionDuration)) === '0s',
		)
		await shot('tour')
		await axe('the tour')
		for (const [n, path] of [
			[2, '/ui/w'],
			[3, '/ui/ops/t'],
			[4, '/ui/ops'],
			[5, '/ui/'],
			[6, '/ui/help'],
		]) {
			await page.focus('[data-tour-next]')
			await page.keyboard.press('Enter')
			await step(n)
			await focused()
			is(`step ${n} is at its page`, new URL(page.url()).pathname === path)
		}
		await page.click('.tour button:has-text("Back")')
		await step(5)
		await page.keyboard.press('Escape')
		await page.waitForSelector('.tour', { state: 'detached' })
		await open('/')
		await page.waitForSelector('.strip')
		is('it is not offered again', (await page.locator('[data-tour-offer]').count()) === 0)
		is('it is kept', (await page.evaluate(() => JSON.parse(localStorage.getItem('sirdar')).tour)) === true)
		await prefer({ ...usual, lang: 'zh' })
		await open('/help')
		await page.click('[data-tour-begin]')
		await page.waitForSelector('.tour:has-text("第 1 步，共 6 步")')
		await axe('the tour in Chinese')
		await page.click('.tour [aria-label="结束导览"]')
		await page.waitForSelector('.tour', { state: 'detached' })
		await prefer(usual)
		await page.evaluate(() => localStorage.removeItem('sirdar-tour'))
	},
}
