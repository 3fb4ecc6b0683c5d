// Several workflows at once: out of force and back, as a file; why one waits, cause by cause.
import { readFileSync } from 'node:fs'
import { api, axe, command, facts, is, open, page, run, shot, provoke } from '../kit.mjs'

const text = name => `workflow: ${name}
project: several
start_date: 2026-11-01
defaults: {cycle: day, type: noop, catchup: {mode: none}}
tasks:
  one: {}
  two: {needs: [one]}
`
const states = async () => (await api('tasks?prefix=several/')).items.map(k => k.state).join()

export default {
	'workflows are taken offline and put online together, and leave as one file': async () => {
		await open('/')
		for (const name of ['left', 'right'])
			await command('apply', { documents: [{ name: name + '.yaml', text: text(name) }] })
		await open('/w?project=several&q=nobody')
		await page.click('.empty .button')
		await page.waitForURL(/ui\/w$/)
		await open('/w?project=several')
		await page.waitForSelector('.table tbody tr:nth-child(2)')
		await page.waitForSelector('.table tbody tr:nth-child(3)', { state: 'detached' })
		await page.check('thead .checkbox')
		await page.waitForSelector('.bulk-bar:has-text("2")')
		await axe('workflows chosen')
		await shot('workflows-bulk')
		const [file] = await Promise.all([page.waitForEvent('download'), page.click('[data-export]')])
		const got = readFileSync(await file.path(), 'utf8')
		is('both are in it', got.includes('left') && got.includes('right') && got.includes('---'))
		for (const [button, word] of [
			['[data-offline]', 'offline'],
			['[data-online]', 'online'],
		]) {
			if ((await page.locator('.bulk-bar.workflow-bar').count()) === 0) await page.check('thead .checkbox')
			await page.click(button)
			await page.click('[data-send]:not([disabled])')
			for (let n = 0; (await states()) !== Array(4).fill(word).join() && n < 600; n++)
				await page.evaluate(() => new Promise(done => setTimeout(done, 100)))
			is('all are ' + word, (await states()) === Array(4).fill(word).join())
			await page.waitForSelector('.dialog', { state: 'detached' })
		}
	},
	'workflows are put online from a date, and a word that is none is refused at its field': async () => {
		await open('/')
		await command('apply', { documents: [{ name: 'left.yaml', text: text('left') }] })
		await command('offline', { selection: { tasks: ['several/left/*'] } })
		await open('/w?project=several&q=left')
		await page.waitForSelector('.table tbody tr')
		await page.check('thead .checkbox')
		await page.click('[data-offline]')
		await page.waitForSelector('[data-send]:not([disabled])')
		is('what goes offline has no date', (await page.locator('#ask-from').count()) === 0)
		await page.keyboard.press('Escape')
		await page.waitForSelector('.dialog', { state: 'detached' })
		await page.click('[data-online]')
		provoke(/400/)
		await page.fill('#ask-from', 'someday')
		await page.waitForSelector('#ask-from.faulty')
		is('the field says why', (await page.textContent('#ask-from-says')).includes('from'))
		is('nothing is sent', await page.isDisabled('[data-send]'))
		await axe('a date that is refused')
		await page.fill('#ask-from', '2026-03-01')
		await page.waitForSelector('#ask-from:not(.faulty)')
		const [sent] = await Promise.all([
			page.waitForRequest(r => r.method() === 'POST' && r.url().endsWith('/commands') && !r.postDataJSON().dry_run),
			page.click('[data-send]:not([disabled])'),
		])
		is('the date is sent', sent.postDataJSON().args.from === '2026-03-01')
		await page.waitForSelector('.dialog', { state: 'detached' })
	},
	'why one waits is told cause by cause, to the one that failed': async () => {
		await open(run + '?task=retail/trade_daily/exp_gmv_mysql&tab=why')
		await page.waitForSelector('[data-chain] li:nth-child(2)')
		const last = page.locator('[data-chain] li').last()
		is('the end of it is what failed', (await last.textContent()).includes('dwd_pay_refund_di'))
		await axe('a chain of causes')
		await last.locator('a').click()
		await page.waitForURL(/dwd_pay_refund_di/)
		await page.waitForSelector('.below .instance-panel .name:has-text("dwd_pay_refund_di")')
	},
	'what an instance was given, gave out and tried stands under names of its own': async () => {
		await open(run + '?task=retail/trade_daily/dwd_pay_refund_di&tab=inputs')
		await page.waitForSelector('.instance-panel [data-resolved]')
		await axe('inputs of an instance')
		await shot('instance-inputs')
		await page.click('.instance-panel [role=tab]:has-text("Outputs")')
		await page.waitForSelector('.instance-body')
		await page.click('.instance-panel [role=tab]:has-text("Attempts")')
		await page.waitForSelector('.instance-body tbody tr')
		is('no attempt is queued', (await page.locator('.instance-body tbody .badge:has-text("Queued")').count()) === 0)
		await page.click('.instance-panel [role=tab]:has-text("History")')
		await page.waitForSelector('.instance-body .history li')
	},
	'the plan of a backfill says which task is not online': async () => {
		await open('/')
		await command('apply', { documents: [{ name: 'asleep.yaml', text: text('asleep') }] })
		await command('offline', { selection: { tasks: ['several/asleep/two'] } })
		await open('/b/new?workflow=several/asleep&from=2026-11-02&to=2026-11-04')
		await page.waitForSelector('[data-asleep]:has-text("two")')
		await axe('a plan with a task that is not online')
		await page.click('[data-asleep] button')
		await page.click('[data-send]:not([disabled])')
		await page.waitForSelector('[data-asleep]', { state: 'detached' })
	},
	'figures that no server says are unknown, not 0': async () => {
		const away = r => r.fulfill({ status: 503, contentType: 'application/json', body: '{}' })
		provoke(/503/)
		await page.route('**/api/v1/server', away)
		await page.route('**/api/v1/forecast*', away)
		await open('/')
		await page.waitForSelector('.needs li')
		const cells = page.locator('.strip .cell', {
			has: page.locator('.state-icon.state-running, .state-icon.state-ready'),
		})
		const figures = await cells.locator('.figure').allInnerTexts()
		is('running and waiting are unknown: ' + figures, figures.join() === '–,–')
		await page.waitForSelector('[data-next] .whole, [data-next] p, [data-next] ul')
		is('nobody knows what is next', !(await page.innerText('[data-next]')).includes('Nothing is due soon'))
		await page.unrouteAll()
		provoke()
	},
	'the run of a date that nothing has is said not to be, and nothing is offered for it': async () => {
		await open('/r/retail/trade_daily/1999-01-04')
		await page.waitForSelector('[data-norun]:has-text("No such run")')
		is('no redo, no kill', (await page.locator('.run-head .actions button:has-text("…")').count()) === 0)
		is('no state', (await page.locator('.run-head .badge').count()) === 0)
		await axe('a run that does not exist')
	},
	'a workflow says whether it is online, and is put offline and online on its own page': async () => {
		await open('/')
		await command('apply', { documents: [{ name: 'switched.yaml', text: text('switched') }] })
		await open('/w/several/switched')
		await page.waitForSelector('[data-online-state]:has-text("Online")')
		await page.click('[data-offline]')
		await page.click('[data-send]:not([disabled])')
		await page.waitForSelector('[data-online-state]:has-text("Offline")')
		await page.waitForSelector('[data-online]')
	},
	'a state that is none is named with those that are': async () => {
		await open('/ops/t?q=state:nosuch')
		await page.waitForSelector('.query-fault:has-text("nosuch"):has-text("succeeded")')
		provoke(/404/)
		await open('/ops/t?q=nobodyhasthistitle')
		await page.waitForSelector('.empty:has-text("No instance matches")')
		provoke()
	},
	'a selection of workflows does not outlive the filter that hides it': async () => {
		await open('/w')
		await page.locator('tbody .checkbox').first().click()
		await page.waitForSelector('.workflow-bar')
		await page.fill('[data-search]', 'no such workflow')
		await page.waitForSelector('.workflow-bar', { state: 'detached' })
	},
	'what is in trouble is one figure, wherever it stands': async () => {
		await open('/')
		await page.waitForSelector('.needs li')
		const here = await page.locator('.strip .cell .figure').first().innerText()
		is('some', here !== '0')
		await open('/ops')
		await page.waitForSelector('.troubles li')
		is(
			'the same on both pages',
			(await page.locator('.situation-strip .cell').nth(1).locator('.figure').innerText()) === here,
		)
	},
	'a workflow is copied with its schedule, offline, under a new name': async () => {
		await open('/')
		await command('apply', { documents: [{ name: 'source.yaml', text: text('source') }] })
		await open('/w/several/source')
		await page.click('[data-copy]')
		await page.waitForSelector('#copy-name')
		await axe('copy a workflow')
		await page.fill('#copy-name', 'several/')
		await page.waitForSelector('#copy-name[aria-invalid=true]')
		await page.fill('#copy-name', 'several/second')
		await page.click('[data-copy-go]:not([disabled])')
		await page.waitForURL(/w\/several\/second/)
		const tasks = (await api('tasks?prefix=several/second/')).items
		is('both tasks, offline', tasks.length === 2 && tasks.every(k => k.state === 'offline'))
		const copy = (await api('workflows/several/second')).document
		is(
			'with its schedule and links',
			copy.includes('start_date') && copy.includes('cycle: day') && copy.includes('one'),
		)
	},
	'a calendar shows the runs by day, a day leads to its run': async () => {
		await open('/w/retail/trade_daily?tab=calendar')
		await page.waitForSelector('[data-runcal] a.calendar-day')
		is('one stop for Tab', (await page.locator('[data-runcal] a.calendar-day[tabindex="0"]').count()) === 1)
		await page.focus('[data-runcal] a.calendar-day[tabindex="0"]')
		await page.keyboard.press('ArrowUp')
		await page.waitForSelector('[data-runcal] a.calendar-day:focus')
		await page.click('[data-runcal] .segments button:nth-child(2)')
		await page.waitForSelector('[data-runcal] .calendar-day:nth-child(365)')
		await axe('a calendar of runs')
		await shot('workflow-calendar')
		await page.click(`[data-runcal] [data-day="${facts.last}"]`)
		await page.waitForURL(new RegExp('/r/retail/trade_daily/' + facts.last))
	},
}
