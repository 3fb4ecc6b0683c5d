// What a person sets follows from browser to browser, and where he is signed in he sees and ends: two browsers of one person.
import { chromium } from 'playwright-core'
import { facts, is, page, trouble } from '../kit.mjs'

const NAME = 'fiona',
	WORD = 'goes from place to place'

/* A browser of its own, which does what a program's does only when asked to. */
async function another(engine) {
	const context = await engine.newContext({
		viewport: { width: 1440, height: 900 },
		timezoneId: 'UTC',
		locale: 'en-US',
	})
	context.setDefaultTimeout(Number(process.env.WAIT ?? 60_000))
	await context.addInitScript(
		() => localStorage.getItem('sirdar-follow') ?? localStorage.setItem('sirdar-follow', 'on'),
	)
	const at = await context.newPage()
	at.on('pageerror', e => trouble(`exception: ${e.message}`))
	await at.goto(facts.url + '/ui/settings')
	await at.fill('#user', NAME)
	await at.fill('#password', WORD)
	await at.click('button[type=submit]')
	await at.waitForSelector('[data-follow] [data-state=kept]')
	return at
}
/* It is written a moment after the change. */
const kept = (at, want) =>
	at.waitForFunction(
		async want => {
			const { preferences } = await (await fetch('/api/v1/preferences')).json()
			return Object.entries(want).every(([key, value]) => preferences[key]?.value === value)
		},
		want,
		{ polling: 300 },
	)

export default {
	'what one sets follows to another browser; where one is signed in is seen and ended': async () => {
		await page.evaluate(
			async ([user, password]) => {
				const { csrf } = await (await fetch('/api/v1/session')).json()
				await fetch('/api/v1/users', {
					method: 'POST',
					headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': csrf },
					body: JSON.stringify({ user, password, role: 'viewer' }),
				})
			},
			[NAME, WORD],
		)
		const engine = await chromium.launch({
			executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
			args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
		})
		try {
			const here = await another(engine),
				there = await another(engine)
			await here.click('.segments button:has-text("Dark")')
			await kept(here, { theme: 'dark' })
			/* The other one has not read that yet, and writes: neither is lost. */
			await there.click('.segments button:has-text("Compact")')
			await there.waitForSelector('html[data-theme=dark][data-density=compact]')
			await kept(there, { theme: 'dark', density: 'compact' })
			await here.reload()
			await here.waitForSelector('html[data-theme=dark][data-density=compact]')
			/* This browser goes its own way. */
			await here.click('[data-follow] button:has-text("Only in this browser")')
			await here.click('.segments button:has-text("Light")')
			await here.waitForSelector('html[data-theme=light]')
			await there.reload()
			await there.waitForSelector('[data-follow] [data-state=kept]')
			is('the other stays as it was', (await there.getAttribute('html', 'data-theme')) === 'dark')

			await here.reload()
			await here.waitForSelector('html[data-theme=light] tr[data-session]:nth-child(2)')
			is('this one is marked', (await here.locator('tr[data-own]').count()) === 1)
			await here.click('[data-end-others]')
			await here.waitForSelector('tr[data-session]:nth-child(2)', { state: 'detached' })
			await there.reload()
			await there.waitForSelector('#password')
		} finally {
			await engine.close()
		}
	},
}
