// People and what they may.
import { axe, browser, facts, is, open, page, provoke, run, settled, shot } from '../kit.mjs'

export default {
	'a user is made, signs in, and may do nothing': async () => {
		provoke(/401/, /403/)
		await open('/people')
		await page.click('.page-head .button.primary')
		await page.fill('#p-user', 'vera')
		await page.fill('#p-name', 'Vera Visitor')
		await page.fill('#p-pass', 'only to look around')
		await page.click('.dialog button[type=submit]')
		await page.waitForSelector('.table .name:has-text("vera")')
		await shot('people')
		await open('/ops/audit')
		await page.waitForSelector('.deeds li:has-text("admin made or changed the person vera")')
		is('no password in it', !(await page.innerText('main')).includes('argon2id'))
		await shot('audit')
		await browser.clearCookies()
		await page.goto(facts.url + '/ui/')
		await page.fill('#user', 'vera')
		await page.fill('#password', 'only to look around')
		await page.click('button[type=submit]')
		await page.waitForSelector('.frame')
		is(
			'nothing of an operator to go to',
			(await page.locator('a[href$="/ops/audit"], a[href$="/people"]').count()) === 0,
		)
		for (const path of ['/people', '/ops/audit']) {
			await open(path)
			await page.waitForSelector('text=/needs the role/')
			await page.waitForSelector('text=/An administrator can grant it/')
		}
		await axe('a page one may not see')
		await shot('forbidden')
		for (const path of [
			'/',
			'/w',
			'/w/retail/trade_daily',
			run,
			'/ops',
			'/ops/t',
			'/ops/queues',
			'/ops/brokers',
			'/ops/commands',
		]) {
			await open(path)
			await settled()
			is(
				`nothing to do at ${path}: ` + (await page.locator('main').innerText()),
				(await page
					.locator(
						'[data-act], [data-new], [data-edit]:has-text("Edit"), main .button.dangerous, main .button.danger-text',
					)
					.count()) === 0,
			)
		}
		await open('/w/retail/trade_daily/edit')
		await page.waitForSelector('.editor-bar .chip:has-text("Read only")')
		const refused = await page.evaluate(async () => {
			const s = await (await fetch('/api/v1/session')).json(),
				answers = []
			for (const [path, body] of [
				[
					'commands',
					{
						kind: 'kill',
						args: { selection: { tasks: ['retail/trade_daily/*'], states: ['Running'] } },
						request_id: 'vera-1',
					},
				],
				['workflows', { documents: [{ name: 'x.yaml', text: 'workflow: x' }], request_id: 'vera-2' }],
				['users', { user: 'v2', password: 'a long password', role: 'admin', request_id: 'vera-3' }],
			]) {
				const r = await fetch('/api/v1/' + path, {
					method: 'POST',
					headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': s.csrf },
					body: JSON.stringify(body),
				})
				answers.push(`${r.status} ${(await r.json()).error.message}`)
			}
			return answers
		})
		is(
			'the server refuses: ' + refused.join('; '),
			refused.every(r => /^403 .*needs the (role|right)/.test(r)),
		)
		await open('/ops/t?q=state:Succ')
		await page.waitForSelector('.list-row')
		await page.locator('.list-row').first().click()
		is('no act is offered', (await page.locator('.dialog button:has-text("Redo"), .bulk-bar button').count()) === 0)
		await browser.clearCookies()
		await page.goto(facts.url + '/ui/')
		await page.fill('#user', 'admin')
		await page.fill('#password', facts.password)
		await page.click('button[type=submit]')
		await page.waitForSelector('.frame')
		provoke()
	},
}
