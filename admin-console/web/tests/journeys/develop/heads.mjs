// Heads of tables and panels have room: with long names, with everything frozen, on desks of 1280 and 1440.
import { command, facts, is, open, page, provoke, settled, shot } from '../kit.mjs'

const LONG = 'a_table_whose_name_has_to_stand_in_one_column_of_a_page'
const doc = n => `workflow: ${LONG}_${n}
project: long_names_of_a_department
title: What its people call it when they have time
timezone: UTC
start_date: ${facts.days[0]}
state: frozen
defaults: {type: noop, cycle: day, owner: admin, fire: end, catchup: {mode: all, max: 100}}
baselines: [{task: ${LONG}_last, committed: "23:59"}]
tasks:
  ${LONG}_first: {}
  ${LONG}_last: {needs: [${LONG}_first]}
`
const pages = [
	'/',
	'/?of=mine',
	'/ops',
	'/w',
	'/r',
	'/ops/t',
	'/ops/queues',
	'/ops/brokers',
	'/ops/baselines',
	'/ops/commands',
]

/* Heads and names that are shown but have no room for a letter, and what is wider than its page. */
const cramped = () =>
	page.evaluate(() => {
		const shown = e => e.checkVisibility({ visibilityProperty: true }) && !e.closest('.screen-reader, .skeletons')
		const all = [...document.querySelectorAll('main :is(h1, h2, th, .name, .task-name, .list-head > *)')].filter(
			e => shown(e) && e.textContent.trim(),
		)
		const narrow = all
			.filter(e => e.getBoundingClientRect().width < Math.min(24, e.textContent.trim().length * 5))
			.map(e => `${e.tagName.toLowerCase()}.${e.className} "${e.textContent.trim().slice(0, 30)}"`)
		const wide =
			document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth}`] : []
		return { n: all.length, bad: [...narrow, ...wide] }
	})

export default {
	'letters and digits are of the font that comes along, and no address but ours is asked': async () => {
		const asked = []
		page.on('request', r => asked.push(r.url()))
		await open('/')
		await settled()
		const fonts = await page.evaluate(async () => {
			await document.fonts.ready
			return [...document.fonts].filter(f => f.status === 'loaded').map(f => f.family.replaceAll('"', ''))
		})
		is('Inter is drawn with: ' + fonts.join(), fonts.includes('Inter Variable'))
		const file = await page.request.get(asked.find(u => u.endsWith('.woff2')))
		is('its type', file.headers()['content-type'] === 'font/woff2')
		is(
			'nothing from elsewhere',
			asked.every(u => u.startsWith(facts.url) || u.startsWith('blob:') || u.startsWith('data:')),
		)
	},
	'heads and names keep their room, with long names and all of it frozen, on 1280 and 1440': async () => {
		for (const n of [1, 2, 3])
			await command('apply', { documents: [{ name: `${n}.yaml`, text: doc(n) }], from: facts.days[0] })
		await command('freeze', { selection: { workflow: 'retail/trade_daily' } })
		try {
			for (const width of [1280, 1440]) {
				await page.setViewportSize({ width, height: 900 })
				for (const path of pages) {
					await open(path)
					await settled()
					if (path.startsWith('/?') || path === '/')
						await page.waitForSelector(`main .table .name:has-text("${path === '/' ? 'trade_daily' : LONG}")`)
					const { n, bad } = await cramped()
					is(`${path} has heads`, n > 0)
					is(`${path} at ${width}: ${bad.join('; ')}`, !bad.length)
				}
			}
			await open('/?of=mine')
			await page.waitForSelector(`main .table .name:has-text("${LONG}")`)
			await shot('home-long')
		} finally {
			provoke()
			await command('unfreeze', { selection: { workflow: 'retail/trade_daily' } })
			for (const n of [1, 2, 3]) {
				const workflow = `long_names_of_a_department/${LONG}_${n}`
				await command('retire', { selection: { workflow }, running: 'wait' })
			}
		}
	},
}
