// What an operator looks after: versions of plugins, target servers, calendars, the audit's chain, a device without a network.
import { axe, browser, facts, is, open, page, provoke, server, shot } from '../kit.mjs'

/* The dialog in which a command is asked for: the server's word on it first, then the verb. */
async function send() {
	await page.waitForSelector('.dialog [data-send]:not([disabled])')
	await page.click('.dialog [data-send]')
	await page.waitForSelector('.dialog', { state: 'detached' })
}
const inForce = version =>
	page.waitForSelector(`.version-table th:has-text("${version}"):has(.chip:has-text("in force"))`)

export default {
	'a peer is invited, enrols, is compared and approved; revoked, it is let in again': async () => {
		const row = word => page.waitForSelector(`tr[data-peer="etl-9"]:has(.chip:has-text("${word}"))`)
		await open('/ops/peers')
		await page.click('.page-head .button')
		await page.fill('#p-name', 'etl-9')
		await page.fill('#p-groups', 'etl, night')
		await axe('the form of an invitation')
		await page.click('.dialog button[type=submit]')
		const code = await page.innerText('[data-code]')
		is('the line to run', (await page.innerText('[data-made]')).includes(`taskbroker.yaml enrol ${code}`))
		await row('invited')
		const key = await server('machine_enrols', { name: 'etl-9', code })
		await page.waitForSelector('[data-pending]')
		is('its key, in groups of four', (await page.innerText('[data-key]')).replaceAll(' ', '') === key)
		is('and no group longer', (await page.innerText('[data-key]')).trim().split(' ')[0].length === 4)
		await row('waits for approval')
		await shot('peers')
		await page.click('[data-pending] .button.primary')
		await axe('the dialog of an approval')
		await page.click('.dialog button[type=submit]')
		await row('in force')
		await page.waitForSelector('[data-pending]', { state: 'detached' })
		is('what it may be', (await page.innerText('tr[data-peer="etl-9"]')).includes('etl, night'))
		await page.click('tr[data-peer="etl-9"] .danger-text')
		await page.fill('#ask-why', 'sold, ticket 12')
		await send()
		await row('revoked')
		await page.click('tr[data-peer="etl-9"] .button:has-text("Let in again")')
		await send()
		await row('in force')
	},
	'a plugin is registered, its versions are seen, it is rolled back': async () => {
		const sums = await server('plugins_of_another_broker')
		await open('/ops/types/odd')
		for (const [version, sha] of Object.entries(sums)) {
			await page.click('.side-list header .button')
			await page.fill('#pl-version', version)
			await page.fill('#pl-sha', sha)
			if (version === '1.0-odd') await axe('the form of a registration')
			await page.click('.dialog button[type=submit]')
			await page.waitForSelector('.dialog', { state: 'detached' })
			const column = page.locator('.version-table thead th', { hasText: version })
			await column.waitFor()
			const n = await page
				.locator('.version-table thead th')
				.allInnerTexts()
				.then(all => all.findIndex(x => x.includes(version)))
			await page
				.locator('.version-table .version-actions td')
				.nth(n + 1)
				.getByRole('button', { name: 'Enable' })
				.click()
			await send()
			await inForce(version)
			await page.waitForSelector(`.matrix tr:has-text("b2") .life.life-on`)
		}
		await page.waitForSelector('.version-table th:has-text("1.0-odd"):has(.chip:has-text("previous"))')
		await shot('types')
		await page.click('.version-table .button:has-text("Roll back")')
		await page.fill('#ask-why', 'fails as often as it runs, ticket 77')
		await axe('the dialog of a roll back')
		await send()
		await inForce('1.0-odd')
		await open('/ops/commands')
		await page.waitForSelector('tr:has-text("Roll back plugin")')
	},
	'the form of a type is the one that users fill in': async () => {
		await open('/ops/types/http')
		await page.waitForSelector('[data-form] .field')
		await page.fill('[data-form] .field:has(label:has-text("url")) input', 'https://example.org/x')
		await page.waitForSelector('[data-yaml]:has-text("url:")')
		is('as it stands in a workflow', (await page.innerText('[data-yaml]')).includes('type: http'))
	},
	'a calendar is made by clicking days, and the server says what is wrong with its text': async () => {
		await open('/calendars?c=shop-days')
		const day = `${new Date().getFullYear()}-07-01`
		const looks = () => page.getAttribute(`[data-day="${day}"]`, 'class')
		const was = await looks()
		await page.click(`[data-day="${day}"]`)
		is('the day changes', (await looks()) !== was)
		await page.click('[data-savedoc]')
		await page.waitForSelector('.pick a:has-text("shop-days")')
		await axe('a year of a calendar')
		await shot('calendar')
	},
	'the audit proves its rows': async () => {
		await open('/ops/audit')
		await page.waitForSelector('[data-proved]')
		/* A row is a sentence; its hash and what was asked for are below it. */
		await page.click('[data-unfold] >> nth=0')
		await page.waitForSelector('.audit-detail .proof')
		await axe('a row of the audit')
		is('no bare numbers of requests', !/\b[0-9a-f]{32}\b/.test((await page.locator('.deed').allInnerTexts()).join(' ')))
		is('of several rows', Number((await page.innerText('[data-proved]')).match(/[\d,]+/)[0].replace(',', '')) > 2)
	},
	'a device without a network opens the console and says so; never what the API said': async () => {
		provoke(/ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to fetch|Failed to load/)
		await open('/')
		await page.evaluate(() => localStorage.setItem('sirdar-worker', 'on'))
		await page.reload()
		await page.waitForSelector('.frame')
		await page.waitForFunction(
			async () =>
				(await navigator.serviceWorker.getRegistration('/ui/'))?.active?.state === 'activated' &&
				(await caches.has('sirdar-shell')),
		)
		await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
		const kept = await page.evaluate(async () =>
			(await (await caches.open('sirdar-shell')).keys()).map(r => new URL(r.url).pathname),
		)
		is('the shell is kept: ' + kept.length, kept.includes('/ui/') && kept.some(k => k.startsWith('/ui/assets/')))
		is('and nothing of the API', !kept.some(k => k.startsWith('/api/')))
		await browser.setOffline(true)
		try {
			await page.goto(facts.url + '/ui/ops/alerts')
			await page.waitForSelector('text=/does not answer/')
		} finally {
			await browser.setOffline(false)
			await page.evaluate(async () => {
				localStorage.removeItem('sirdar-worker')
				for (const r of await navigator.serviceWorker.getRegistrations()) await r.unregister()
				await caches.delete('sirdar-shell')
			})
		}
		await open('/')
		await page.waitForSelector('.frame')
	},
}
