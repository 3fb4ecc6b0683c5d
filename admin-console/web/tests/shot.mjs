// Development: screenshots of pages. FACTS=… node tests/shot.mjs OUT 'path|theme|lang|width|height' ...
import { chromium } from 'playwright-core'
import { mkdirSync } from 'node:fs'
const facts = JSON.parse(process.env.FACTS)
const [out, ...shots] = process.argv.slice(2)
mkdirSync(out, { recursive: true })
const b = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] })
const ctx = await b.newContext({ viewport: { width: 1440, height: 900 }, timezoneId: 'UTC' })
const page = await ctx.newPage()
page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') console.log('CONSOLE', m.type(), m.text()) })
page.on('pageerror', (e) => console.log('PAGEERROR', e.message))
await page.goto(facts.url + '/ui/')
await page.fill('#password', facts.password)
await page.click('button[type=submit]')
await page.waitForSelector('.app', { timeout: 20000 })
let n = 0
for (const s of shots) {
	const [path, theme = 'light', lang = 'en', w = '1440', h = '900', act] = s.split('|')
	await page.setViewportSize({ width: +w, height: +h })
	await page.evaluate(([theme, lang]) => localStorage.setItem('sirdar', JSON.stringify({ ...JSON.parse(localStorage.getItem('sirdar') ?? '{}'), theme, lang, zone: 'Asia/Shanghai' })), [theme, lang])
	await page.goto(facts.url + '/ui' + path)
	await page.waitForLoadState('networkidle', { timeout: 4000 }).catch(() => {})
	await page.waitForTimeout(700)
	if (act) { await eval(`(async (page) => { ${act} })`)(page); await page.waitForTimeout(600) }
	const name = `${out}/${String(n++).padStart(2, '0')}-${theme}-${lang}-${w}.png`
	await page.screenshot({ path: name })
	console.log(name, path)
}
await b.close()
