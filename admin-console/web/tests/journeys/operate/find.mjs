// Palette, keys, language, theme, zone, phone.
import { api, axe, command, facts, is, open, page, prefer, provoke, shot } from '../kit.mjs'

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
	'a sentence in the palette leads to the dialog of what it says, and nothing is done before it is sent': async () => {
		await open('/')
		const write = async (text, entry) => {
			await page.keyboard.press('Control+k')
			await page.waitForSelector('.palette')
			await page.keyboard.insertText(text)
			await page.waitForSelector(`.palette-item[aria-selected=true]:has-text("${entry}")`)
		}
		const task = 'retail/trade_daily/dwd_trade_order_di'
		/* But what was counted of signing in. */
		const asked = async () => (await api('commands?limit=100')).items.filter(c => c.kind !== 'sign-ins').length
		const before = await asked()
		/* Whatever day it is: a date as a list shows it. The server reads it, the dialog says what it made of it. */
		await write(`redo dwd_trade_order_di ${facts.last}`, `Redo ${task}`)
		await axe('a sentence in the palette')
		await shot('palette-sentence')
		await page.keyboard.press('Enter')
		await page.waitForSelector(`.dialog:has-text("Redo ${task} ${facts.last}") [data-dates]:has-text("${facts.last}")`)
		await page.waitForSelector('.dialog [data-go]:not([disabled]):has-text("Redo 1")')
		await page.selectOption('#blinks', 'ignore')
		await page.waitForSelector('.dialog [data-go]:not([disabled]):has-text("Redo 1")')
		await axe('the dialog of a redo')
		await page.keyboard.press('Escape')
		await page.waitForSelector('.dialog', { state: 'detached' })
		is('nothing was asked for', (await asked()) === before)
		/* Chinese words, a range, and a date in words. */
		await write(`重跑 dwd_trade_order_di ${facts.days.at(-3)}..${facts.last}`, `Redo ${task}`)
		await page.keyboard.press('Enter')
		await page.waitForSelector(`[data-dates]:has-text("${facts.days.at(-2)}")`)
		await page.waitForSelector('.dialog [data-go]:has-text("Redo 3")')
		await page.keyboard.press('Escape')
		await page.waitForSelector('.dialog', { state: 'detached' })
		await write('freeze trade_daily', 'Freeze retail/trade_daily')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.dialog [data-go]:not([disabled])')
		await page.keyboard.press('Escape')
		await page.waitForSelector('.dialog', { state: 'detached' })
		await write(`run dwd_trade_order_di ${facts.last}`, `Run ${task}`)
		await page.keyboard.press('Enter')
		await page.waitForSelector('.dialog:has(#run-date) [data-starts]:has-text("Start 1 instance")')
		is('the date stands there', (await page.inputValue('#run-date')) === facts.last)
		await page.keyboard.press('Escape')
		await page.waitForSelector('.dialog', { state: 'detached' })
		await write(`why dwd_pay_refund_di ${facts.last}`, 'Why: retail/trade_daily/dwd_pay_refund_di')
		await page.keyboard.press('Enter')
		await page.waitForURL(new RegExp(`/p/retail/trade_daily/dwd_pay_refund_di/${facts.last}`))
		await page.waitForSelector('.instance-panel [role=tab][aria-selected=true]:has-text("Why")')
		await write(`日志 dwd_pay_refund_di ${facts.last}`, 'Log of retail/trade_daily/dwd_pay_refund_di')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.log-view:has-text("Duplicate key")')
		is('nothing was done', (await asked()) === before)
	},
	'what no date is read is refused in the words of the server': async () => {
		await open('/')
		await page.keyboard.press('Control+k')
		await page.waitForSelector('.palette')
		provoke(/400/)
		await page.keyboard.insertText('redo dwd_trade_order_di someday')
		await page.waitForSelector('.palette-item[aria-selected=true]:has-text("dwd_trade_order_di")')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.dialog [role=alert]:has-text("someday")')
		is('it cannot be sent', await page.locator('.dialog [data-go]').isDisabled())
		await page.keyboard.press('Escape')
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
