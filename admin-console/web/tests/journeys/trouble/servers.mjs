// A leader dies, the web server dies, the line is slow or cut, while somebody watches: it is told, nothing is lost, it goes on.
import { api, axe, browser, facts, is, open, page, provoke, server, shot } from '../kit.mjs'

const laps = () => open('/ops/t?q=' + encodeURIComponent('task:lab/line/*') + '&sort=run_date&order=asc')
const live = () => page.waitForSelector('.live:not(.wait):not(.stale)')
const state = (n, task, word) =>
	page.waitForSelector(
		`.list-row:has(.cell-date:has-text("${facts.days.at(n)}")):has-text("${task}") .badge:has-text("${word}")`,
	)
/* What a person has made of the page and must not lose. */
async function place() {
	await page.locator('.list-row .checkbox').nth(1).click()
	await page.waitForSelector('.bulk-bar b:text-is("1")')
	is('the box says so', await page.locator('.list-row .checkbox').nth(1).isChecked())
	return page.url()
}
const kept = async url => {
	is('the same address', page.url() === url)
	is('the same selection', (await page.innerText('.bulk-bar b')) === '1')
}
const broken = [/ 50[234]/, /ERR_/, /status of 50/, /failed: net/i]

export default {
	'the leader dies while one watches: stale is said, another leads, the page goes on': async () => {
		await laps()
		await live()
		await state(-1, 'first', 'Running')
		const url = await place(),
			before = (await api('server')).epoch
		provoke(...broken)
		const said = page.waitForSelector('.live.stale')
		await server('leader_killed')
		await said
		await live()
		await kept(url)
		await server('lap', { day: facts.days.at(-1) })
		await state(-1, 'first', 'Succeeded')
		await state(-1, 'second', 'Succeeded')
		await kept(url)
		is('another leads', (await api('server')).epoch > before)
		provoke()
	},
	'the web server dies and comes back: rows stay and are old; one goes on, still signed in': async () => {
		await laps()
		await live()
		const url = await place()
		provoke(...broken)
		await server('face_killed')
		await page.waitForSelector('.live.stale')
		await page.waitForSelector('.strip-note')
		await state(-2, 'first', 'Running')
		await shot('lost')
		await axe('the page without a server')
		await server('lap', { day: facts.days.at(-2) })
		await server('face_started')
		await live()
		await page.waitForSelector('.strip-note', { state: 'detached' })
		provoke()
		await state(-2, 'second', 'Succeeded')
		await kept(url)
	},
	'a slow line: the frame is there, what comes late comes': async () => {
		await server('wire', { slow: 0.4 })
		/* The page itself looks for it: on a busy machine it may be gone before anybody outside has looked. */
		await page.addInitScript(() => {
			const look = () => (window.sawSkeleton ||= document.querySelector('.skeletons.active') !== null)
			new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true })
		})
		await page.goto(facts.url + '/ui/ops/t?q=' + encodeURIComponent('task:lab/line/*'), { waitUntil: 'commit' })
		await page.waitForFunction(() => window.sawSkeleton)
		await page.waitForSelector('.rail')
		await page.waitForSelector('.list-row')
		await server('lap', { day: facts.days.at(-3) })
		await state(-3, 'second', 'Succeeded')
		await server('wire')
		await live()
	},
	'the stream is cut again and again: what happened meanwhile is told, once': async () => {
		await laps()
		await live()
		const url = await place()
		provoke(...broken)
		await server('wire', { cut: true })
		await page.waitForSelector('.live.stale, .live:not(.wait):not(.stale)')
		await server('wire', { shut: true, cut: true })
		await page.waitForSelector('.live.stale')
		await server('lap', { day: facts.days.at(-4) })
		await server('wire')
		await live()
		await state(-4, 'second', 'Succeeded')
		await kept(url)
		provoke()
	},
	'nine tabs have one stream; a late one knows at once, all follow': async () => {
		const tabs = [page]
		await laps()
		for (let i = 0; i < 8; i++) {
			const tab = await browser.newPage()
			await tab.goto(page.url())
			tabs.push(tab)
		}
		for (const tab of tabs) await tab.waitForSelector('.live:not(.wait):not(.stale)')
		await server('lap', { day: facts.days.at(-5) })
		for (const tab of tabs)
			await tab.waitForSelector(
				`.list-row:has(.cell-date:has-text("${facts.days.at(-5)}")):has-text("second") .badge:has-text("Succeeded")`,
			)
		const late = await browser.newPage()
		await late.goto(page.url())
		await late.waitForSelector('.live:not(.wait):not(.stale)')
		await late.waitForSelector(
			`.list-row:has(.cell-date:has-text("${facts.days.at(-5)}")):has-text("second") .badge:has-text("Succeeded")`,
		)
		await server('one_stream')
	},
}
