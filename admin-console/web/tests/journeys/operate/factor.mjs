// A second factor: set up with the picture and a first code, wanted at the next sign-in, removed.
import { createHmac } from 'node:crypto'
import { api, axe, browser, facts, is, open, page, provoke, signIn } from '../kit.mjs'

const password = 'a long enough word'

function codeOf(secret) {
	const letters = [...secret]
		.map(c => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
		.join('')
	const key = Buffer.from(letters.match(/.{8}/g).map(b => parseInt(b, 2)))
	const step = Buffer.alloc(8)
	step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000)))
	const mac = createHmac('sha1', key).update(step).digest()
	return String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1000000).padStart(6, '0')
}

export default {
	'a second factor is set up, wanted and removed': async () => {
		await api('users', { user: 'mei', role: 'developer', projects: ['retail'], password })
		await signIn('mei', password)
		await open('/settings')
		await page.fill('#factor-password', password)
		await page.click('[data-factor] button[type=submit]')
		await page.waitForSelector('[data-factor] svg path.dark')
		await axe('the picture of a second factor')
		const secret = await page.innerText('[data-secret]')
		// A code is of its half minute: where that passed before the server looked, the next one is shown.
		for (let tries = 0; tries < 3; tries++) {
			await page.fill('#factor-code', codeOf(secret))
			await page.click('[data-factor] button[type=submit]')
			await page.waitForSelector('[data-codes], [data-factor] .state-failed')
			if (await page.locator('[data-codes]').count()) break
		}
		await page.waitForSelector('[data-codes]')
		const codes = await page.locator('[data-codes] li').allInnerTexts()
		is('ten codes', codes.length === 10)
		await axe('recovery codes')
		await page.click('[data-codes] button')
		await page.waitForSelector('[data-factor]:has-text("10 recovery codes left")')

		provoke(/401/)
		await browser.clearCookies()
		await page.goto(facts.url + '/ui/')
		await page.fill('#user', 'mei')
		await page.fill('#password', password)
		await page.click('button[type=submit]')
		await page.waitForSelector('#code')
		await axe('sign-in with a code')
		await page.fill('#code', codes[0].replace(/./g, 'A'))
		await page.click('button[type=submit]')
		await page.waitForSelector('#code-text.error')
		await page.fill('#code', codes[0])
		await page.click('button[type=submit]')
		await page.waitForSelector('.frame')
		await open('/settings')
		await page.fill('#factor-password', password)
		await page.fill('#factor-code', codes[0])
		await page.click('[data-factor] button[type=submit]')
		await page.waitForSelector('[data-factor] .state-failed')
		await page.fill('#factor-code', codes[1])
		await page.click('[data-factor] button[type=submit]')
		await page.waitForSelector('[data-factor]:not(:has(#factor-code))')
		provoke()
		await signIn()
	},
}
