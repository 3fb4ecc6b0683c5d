// What the journeys share: one browser, one page that is signed in, and what no page may do whatever the journey.
// FACTS is JSON of tests/e2e/console.py: url, password, last (a business date), days, folder, acts (where servers are acted on).
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

export const facts = JSON.parse(process.env.FACTS)
export const heavy = Boolean(process.env.HEAVY)
export const run = `/r/retail/trade_daily/${facts.last}`
const axeText = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export const shots = process.env.SHOTS ?? ''
if (shots) mkdirSync(shots, { recursive: true })

rmSync(facts.profile, { recursive: true, force: true })
export const browser = await chromium.launchPersistentContext(facts.profile, {
	executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
	headless: true,
	args: [
		'--no-sandbox',
		'--disable-gpu',
		'--disable-quic',
		'--no-first-run',
		'--disable-background-networking',
		'--disable-component-update',
		'--disable-sync',
		'--disable-dev-shm-usage',
	],
	viewport: { width: 1440, height: 900 },
	timezoneId: 'UTC',
	locale: 'en-US',
	reducedMotion: 'reduce',
	acceptDownloads: true,
})
browser.setDefaultTimeout(Number(process.env.WAIT ?? 60_000))

/* --- what no page may do, whatever the journey --- */
const troubles = []
let provoked = []
/* From now on messages like these are this journey's own doing: provoke(/409/); provoke() takes it back. */
export function provoke(...patterns) {
	provoked = patterns
}
export const trouble = what => {
	if (!provoked.some(p => p.test(what))) troubles.push(what)
}
/* A task that ran without a word has no log. */
const noLog = url => /\/log\?/.test(url)
browser.on('page', page => {
	page.on('console', m => {
		if (m.type() !== 'error' && m.type() !== 'warning') return
		if (!(/404/.test(m.text()) && noLog(m.location().url)))
			trouble(`console ${m.type()}: ${m.text()} ${m.location().url}`)
	})
	page.on('pageerror', e => trouble(`exception: ${e.message}`))
	page.on('response', r => {
		if (r.status() >= 400 && !(r.status() === 404 && noLog(r.url())))
			trouble(`answer ${r.status()}: ${r.request().method()} ${r.url()}`)
	})
	/* Aborted is what leaving a page does to what it still asks. */
	page.on('requestfailed', r => {
		if (r.failure()?.errorText !== 'net::ERR_ABORTED') trouble(`request failed: ${r.failure()?.errorText} ${r.url()}`)
	})
})
await browser.addInitScript(() => {
	addEventListener('securitypolicyviolation', e => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`))
})

export const page = await browser.newPage()
export const is = (what, ok) => {
	if (!ok) throw new Error(what)
}
export const open = async (path, on = page) => {
	await on.goto(facts.url + '/ui' + path)
	await on.waitForSelector('main')
}
export const prefer = more =>
	page.evaluate(
		more =>
			localStorage.setItem(
				'sirdar',
				JSON.stringify({ ...JSON.parse(localStorage.getItem('sirdar') ?? '{}'), ...more }),
			),
		more,
	)
export const usual = { theme: 'light', lang: 'en', zone: 'UTC' }
const wide = { width: 1440, height: 900 }

export async function signIn(user = 'admin', password = facts.password) {
	provoke(/401/)
	await browser.clearCookies()
	await page.goto(facts.url + '/ui/')
	await page.fill('#user', user)
	await page.fill('#password', password)
	await page.click('button[type=submit]')
	await page.waitForSelector('.frame')
	provoke()
}

export const settled = async (on = page) => {
	await on.waitForFunction(() => !document.querySelector('.skeletons') && document.querySelector('main h1') !== null)
	await on.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
}

/* With SHOTS: the page as it is, into NAME.png. Nothing waits for a time but a picture. */
export async function shot(name, width = 1440, height = 900) {
	if (!shots) return
	await page.setViewportSize({ width, height })
	await page.mouse.move(width - 2, height - 2)
	await page.evaluate(() => {
		for (const old of document.querySelectorAll('.toast button')) old.click()
	})
	await settled()
	await page.waitForTimeout(300)
	writeFileSync(join(shots, name + '.png'), await page.screenshot())
	await page.setViewportSize(wide)
}

/* A page in its finery: { theme, lang, width, height, ready: what it must show first }. */
export async function portrait(name, path, look = {}) {
	const { theme = 'light', lang = 'en', width = 1440, height = 900, ready } = look
	await page.setViewportSize({ width, height })
	await prefer({ ...usual, theme, lang })
	await open(path)
	await settled()
	if (ready) await page.waitForSelector(ready)
	await page.evaluate(() => document.fonts.ready)
	await shot(name, width, height)
	await prefer(usual)
}

export async function axe(where) {
	/* What is pale while it is asked anew is not yet what it will be. */
	await page.waitForFunction(
		() =>
			!document.querySelector('.busy') &&
			!document.getAnimations().some(a => a.playState === 'running' && a.effect?.getTiming().iterations !== Infinity),
	)
	/* The policy forbids scripts in the page; the debugger's evaluate is outside it. */
	if (!(await page.evaluate(() => 'axe' in window))) {
		const cdp = await browser.newCDPSession(page)
		await cdp.send('Runtime.evaluate', { expression: axeText })
		await cdp.detach()
	}
	const found = await page.evaluate(() =>
		window.axe.run(document, {
			runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
			resultTypes: ['violations'],
		}),
	)
	const bad = found.violations.map(
		v =>
			`${v.id}: ${v.nodes
				.slice(0, 3)
				.map(n => n.target.join(' ') + ' ' + (n.any[0]?.message ?? ''))
				.join(' | ')}`,
	)
	if (bad.length) trouble(`axe at ${where}: ${bad.join('; ')}`)
}

/* The API as the page's person: -> the answer's JSON. */
export const api = (path, body) =>
	page.evaluate(
		async ([path, body]) => {
			const s = body ? await (await fetch('/api/v1/session')).json() : {}
			const r = await fetch(
				'/api/v1/' + path,
				body
					? {
							method: 'POST',
							headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': s.csrf },
							body: JSON.stringify(body),
						}
					: {},
			)
			if (!r.ok) throw new Error(`${path}: ${await r.text()}`)
			return r.json()
		},
		[path, body],
	)
/* What no page shows: asked of the API again and again, up to the deadline of all waits. */
export async function until(what, look) {
	const end = Date.now() + Number(process.env.WAIT ?? 60_000)
	while (!(await look())) {
		if (Date.now() > end) throw new Error(`not within the time: ${what}`)
		await page.evaluate(() => new Promise(done => setTimeout(done, 200)))
	}
}
export const command = (kind, args) => api('commands', { kind, args, request_id: 'journey-' + Math.random() })

/* Acts on the servers themselves, the functions marked @act in tests/e2e/console.py: -> what it returned. */
export async function server(name, args = {}) {
	const r = await fetch(facts.acts, { method: 'POST', body: JSON.stringify({ name, args }) })
	const answer = await r.json()
	if (!r.ok) throw new Error(`${name}: ${answer.error}`)
	return answer
}

export const tell = text => console.log('# ' + text)

async function afterwards() {
	provoke()
	await page.unrouteAll()
	for (const p of browser.pages()) if (p !== page) await p.close()
	await page.setViewportSize(wide)
	await prefer(usual)
}

/* Runs what is chosen of [[name, journey]] in order. TAP; -> how many failed. */
export async function walk(journeys) {
	console.log(`1..${journeys.length}`)
	let failed = 0,
		n = 0
	await signIn()
	await prefer(usual)
	for (const [name, go] of journeys) {
		n++
		troubles.length = 0
		const began = Date.now()
		try {
			await go()
			if (troubles.length) throw new Error(troubles.join('\n'))
			console.log(`ok ${n} - ${name} # ${((Date.now() - began) / 1000).toFixed(1)} s`)
		} catch (e) {
			failed++
			console.log(`not ok ${n} - ${name}`)
			for (const line of `${e.stack ?? e}\nat ${page.url()}\n${troubles.join('\n')}`.split('\n')) tell(line)
			if (existsSync(process.env.KEEP ?? ''))
				await page.screenshot({ path: join(process.env.KEEP, `failed-${n}.png`) }).catch(() => {})
			await signIn().catch(() => {})
		}
		await afterwards().catch(e => tell(`afterwards: ${e.message}`))
	}
	await browser.close()
	return failed
}
