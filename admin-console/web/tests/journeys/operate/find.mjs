// Palette, keys, language, theme, zone, phone.
import { axe, command, is, open, page, prefer, shot } from '../kit.mjs'

export default {
	'the palette finds a task, keys lead about': async () => {
		await open('/')
		await page.keyboard.press('Control+k')
		await page.waitForSelector('.palette')
		await axe('the palette')
		await page.keyboard.type('gmv_board')
		await page.waitForSelector('.palette-item:has-text("ads_gmv_board")')
		await shot('palette')
		await page.keyboard.press('Enter')
		await page.waitForURL(/ops\/t/)
		await page.locator('.page-head .segments button').first().focus()
		await page.keyboard.press('Enter')
		await page.waitForURL(/state(:|%3A)trouble/)
		await page.locator('main').focus()
		await page.keyboard.press('g')
		await page.keyboard.press('b')
		await page.waitForURL(/ops\/brokers/)
		await page.keyboard.press('?')
		await page.waitForSelector('.keys')
		await page.keyboard.press('Escape')
		await page.waitForSelector('.keys', { state: 'detached' })
	},
	'the palette finds a title': async () => {
		await open('/')
		const text = `workflow: entitled
project: found
title: Quarterly harvest
start_date: 2026-11-01
tasks: {one: {type: noop, cycle: day, title: Counting sheaves}}
`
		await command('apply', { documents: [{ name: 'entitled.yaml', text }] })
		await open('/')
		for (const [words, name] of [
			['harvest', 'found/entitled'],
			['sheaves', 'found/entitled/one'],
		]) {
			await page.keyboard.press('Control+k')
			await page.waitForSelector('.palette')
			await page.keyboard.type(words)
			await page.waitForSelector(`.palette-item:has-text("${name}"):has-text("${words}")`)
			await page.keyboard.press('Escape')
			await page.waitForSelector('.palette', { state: 'detached' })
		}
	},
	'the dialog of a pool says what it still wants': async () => {
		await open('/ops/queues')
		await page.click('.page-head button:has-text("New pool")')
		await page.waitForSelector('.dialog:has-text("A pool needs a name.")')
		await page.fill('#pname', 'spare')
		await page.waitForSelector('.dialog:has-text("A pool needs a name.")', { state: 'detached' })
		is('it can be saved', await page.isEnabled('.dialog [type=submit]'))
		await page.keyboard.press('Escape')
	},
	'language, theme and zone change at once and stay': async () => {
		await open('/ops/t')
		await page.waitForSelector('.list-row')
		const [name, utc] = [
			await page.innerText('.list-row .cell-date'),
			await page.getAttribute('.list-row .cell-box time', 'title'),
		]
		await page.click('.flat-button[lang=zh-CN]')
		await page.waitForSelector('h1:has-text("实例")')
		await page.keyboard.press('t')
		await page.waitForSelector('html[data-theme=dark]')
		await page.reload()
		await page.waitForSelector('html[data-theme=dark][lang=zh-CN] h1:has-text("实例")')
		await prefer({ zone: 'Asia/Shanghai' })
		await page.reload()
		await page.waitForSelector('.list-row')
		is('another clock', (await page.getAttribute('.list-row .cell-box time', 'title')) !== utc)
		is('the same instance', (await page.innerText('.list-row .cell-date')) === name)
		await open('/ops')
		await shot('situation-palette')
		await prefer({ theme: 'light', lang: 'en', zone: 'UTC' })
	},
	'the manual is in the language of who reads it, and stays at its place': async () => {
		await open('/ops/audit')
		await page.click('.manual-link')
		await page.waitForSelector('.manual h1:has-text("The audit")')
		const above = () =>
			page.waitForFunction(() => {
				const top = document.querySelector('.manual #audit')?.getBoundingClientRect().top ?? 1e6
				return top > 0 && top < 200
			})
		await above()
		await page.click('.flat-button[lang=zh-CN]')
		await page.waitForSelector('.manual h1:has-text("审计")')
		await above()
		await page.fill('.side-list input', '备用服务器接管')
		await page.waitForSelector('.side-list li:has-text("双服务器")')
		await page.waitForSelector('.manual #audit', { state: 'detached' })
		await axe('the manual, searched')
		await page.click('.flat-button[lang=en]')
		await page.waitForSelector('.side-list [role=status]:has-text("No match")')
	},
	'on a phone one sees, reads and acts': async () => {
		await page.setViewportSize({ width: 390, height: 844 })
		await open('/')
		await page.waitForSelector('.bottom-bar')
		await shot('home-phone', 390, 844)
		await page.setViewportSize({ width: 390, height: 844 })
		await page.click('.bottom-bar a:has-text("Instances")')
		await page.waitForSelector('.list-row')
		await page.click('.list-row .row-name')
		await page.waitForSelector('.dialog.side .log-view, .dialog.side .gates, .dialog.side .empty')
		await page.setViewportSize({ width: 1440, height: 900 })
	},
}
