// A month is run again: the server's plan, paused, gone on with, to its end, date by date; a reload loses nothing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { api, axe, command, facts, is, open, page, shot } from '../kit.mjs'

const go = join(facts.folder, 'backfill-go')
const text = `workflow: returns_daily
project: retail
timezone: UTC
start_date: 2026-01-01
defaults: {cycle: day, type: noop, owner: lin.yue, catchup: {mode: none}}
tasks:
  ods_returns: {type: shell, params: {script: "while [ ! -e ${go} ]; do sleep 0.1; done"}}
  dwd_returns: {needs: [ods_returns]}
  dws_returns: {needs: [dwd_returns]}
`
const month = { from: '2026-03-01', to: '2026-03-30' }

export default {
	'a month is backfilled with a plan before, paused, resumed, and seen to its end by date': async () => {
		await open('/')
		await command('apply', { documents: [{ name: 'returns.yaml', text }] })
		await open('/w/retail/returns_daily')
		await page.click('[data-backfill]')
		await page.waitForURL(/b\/new\?workflow=retail/)
		await page.fill('#bf-from', month.from)
		await page.fill('#bf-to', month.to)
		await page.fill('#bf-par', '3')
		await page.waitForSelector('[data-total]:text-is("90")')
		is(
			'thirty dates',
			(await page.locator('[data-days]').textContent()) === '30' && (await page.locator('.day-column').count()) === 30,
		)
		await axe('the plan of a backfill')
		await shot('backfill-plan')
		await page.fill('#bf-why', 'source was late all March')
		await page.click('[data-go]')
		await page.waitForURL(/\/b\/\d+$/)
		await page.waitForSelector('.progress li')
		await page.click('[data-pause]')
		await page.waitForSelector('[data-resume]')
		writeFileSync(go, '')
		await page.waitForFunction(() => Number(document.querySelector('[data-ended]')?.textContent) > 0)
		is('what is not let go waits', Number(await page.locator('[data-asked]').textContent()) < 90)
		await shot('backfill-paused')
		await page.reload()
		await page.click('[data-resume]')
		await page.waitForSelector('[data-ended]:text-is("90")')
		is('every date is there', (await page.locator('.progress li').count()) === 30)
		await axe('a backfill that is over')
		await shot('backfill')
		const id = page.url().split('/').pop()
		is('with its reason', (await api('commands/' + id)).args.includes('late all March'))
		await open('/b')
		await page.waitForSelector(`.table a[href$="/b/${id}"]:has-text("retail/returns_daily")`)
		await shot('backfills')
	},
}
