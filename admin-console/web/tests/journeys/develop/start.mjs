// Run…: a by-hand workflow with parameters, a part of one without jobs, by mouse and by keys; what is refused says why.
import { api, axe, command, is, open, page, provoke, shot } from '../kit.mjs'

const text = `workflow: stocktake
project: byhand
parameters: {store: s001, mode: full}
defaults: {cycle: none, type: shell, retry: {attempts: 1}}
tasks:
  count: {params: {script: 'test ${'${store}'} = s014 && test ${'${mode}'} = full'}}
  report: {needs: [{task: count, depend: 1}], params: {script: 'test ${'${store}'} = s014'}}
  alone: {type: noop, params: {exit: 0, text: hello}}
`
const DIALOG = '.dialog:has(#run-date)'
const applied = async () => {
	await open('/')
	await command('apply', { documents: [{ name: 'stocktake.yaml', text }] })
}
const states = async () => (await api('instances?task=byhand/stocktake/*')).items

export default {
	'a by-hand workflow is run with parameters, its plan seen before and its instances followed to the end': async () => {
		await applied()
		await open('/w/byhand/stocktake')
		await page.click('.title-line [data-start]')
		await page.waitForSelector('[data-starts]:has-text("Start 3 instances")')
		is('the default stands in its place', (await page.getAttribute('#run-param-store', 'placeholder')) === 's001')
		is('the date that is meant too', /^\d{4}-\d\d-\d\d \d\d:/.test(await page.getAttribute('#run-date', 'placeholder')))
		await axe('the dialog of a run')
		await shot('run-dialog')
		await page.fill('#run-param-store', 's014')
		await page.fill('#run-why', 'the shelf was moved')
		await page.click('[data-start-go]:not([disabled]):has-text("Start 3 instances")')
		await page.waitForURL(/\/ops\/commands\/\d+$/)
		await page.waitForSelector('[data-ended]:text-is("3 of 3 ended")')
		is('all went well', (await page.locator('[data-state="Succ"]:has-text("3")').count()) === 1)
		await axe('a run that was started')
		await shot('run-started')
		const of = JSON.parse((await api('commands/' + page.url().split('/').pop())).args)
		is('with what was given and why', of.params.store === 's014' && !('mode' in of.params))
		is('and its reason', of.message === 'the shelf was moved')
	},
	'a part of it runs without a job by keys alone, and Escape starts nothing': async () => {
		await applied()
		await open('/w/byhand/stocktake?tab=tasks')
		const before = (await states()).length
		const row = page.locator('tr:has-text("report") [data-start]')
		await row.focus()
		await page.keyboard.press('Enter')
		await page.waitForSelector('[data-starts]:has-text("Start 1 instance")')
		await page.keyboard.press('Escape')
		await page.waitForSelector(DIALOG, { state: 'detached' })
		await page.waitForFunction(() => document.activeElement?.matches('tr [data-start]'))
		is('nothing was started', (await states()).length === before)
		await page.keyboard.press('Enter')
		await page.waitForSelector(DIALOG)
		await page.selectOption('#run-part', 'upto')
		await page.waitForSelector('[data-starts]:has-text("Start 2 instances")')
		await page.focus('[data-noop] input, input[data-noop]')
		await page.keyboard.press('Space')
		await page.waitForSelector('[data-start-go]:not([disabled]):has-text("without a job")')
		await page.focus('#run-why')
		await page.keyboard.press('Enter')
		await page.waitForURL(/\/ops\/commands\/\d+$/)
		await page.waitForSelector('[data-ended]:text-is("2 of 2 ended")')
		is('none failed', (await page.locator('[data-state="Succ"]:has-text("2")').count()) === 1)
	},
	'a day is picked from a month by keys, a task is given its own params and a priority for this run alone':
		async () => {
			await applied()
			await open('/w/byhand/stocktake?tab=tasks')
			await page.click('tr:has-text("alone") [data-start]')
			await page.waitForSelector('[data-starts]:has-text("Start 1 instance")')
			await page.fill('#run-date', '2026-03-31')
			await page.focus('[data-pick-day]')
			await page.keyboard.press('Enter')
			await page.waitForFunction(() => document.activeElement?.getAttribute('data-day') === '2026-03-31')
			await axe('a month to pick from')
			await shot('run-dialog-month')
			await page.keyboard.press('PageDown')
			await page.waitForFunction(() => document.activeElement?.getAttribute('data-day') === '2026-04-30')
			await page.keyboard.press('Escape')
			await page.waitForSelector('.day-pick', { state: 'detached' })
			is('the dialog stays', await page.isVisible(DIALOG))
			await page.waitForFunction(() => document.activeElement?.matches('[data-pick-day]'))
			await page.keyboard.press('Enter')
			await page.waitForFunction(() => document.activeElement?.getAttribute('data-day') === '2026-03-31')
			await page.keyboard.press('ArrowDown')
			await page.keyboard.press('Enter')
			await page.waitForFunction(() => document.querySelector('#run-date').value === '2026-04-07')
			await page.click('[data-own]')
			is('its own params stand there', (await page.getAttribute('#run-own-text', 'placeholder')) === 'hello')
			await page.fill('#run-own-text', 'good day')
			await page.selectOption('#run-priority', '9')
			await page.click('[data-start-go]:not([disabled]):has-text("Start 1 instance")')
			await page.waitForURL(/\/ops\/commands\/\d+$/)
			await page.waitForSelector('[data-ended]:text-is("1 of 1 ended")')
			const of = (await api('instances?task=byhand/stocktake/alone')).items.find(i =>
				i.run_date.startsWith('2026-04-07'),
			)
			is('with its priority', of?.priority === 9)
			await page.waitForSelector('main')
			await open('/p/byhand/stocktake/alone/' + encodeURIComponent(of.label))
			await page.waitForSelector('.log-view:has-text("good day")')
		},
	'a date that is none is refused in the words of the server, and nothing can be sent': async () => {
		await applied()
		await open('/w?project=byhand')
		await page.click('tr:has-text("stocktake") [data-start]')
		await page.waitForSelector('[data-starts]')
		provoke(/400/)
		await page.fill('#run-date', 'someday')
		await page.waitForSelector('.dialog [role=alert]:has-text("someday")')
		is('it cannot be sent', await page.locator('[data-start-go]').isDisabled())
		await page.fill('#run-date', 'yesterday')
		await page.waitForSelector('[data-start-go]:not([disabled])')
		await page.keyboard.press('Escape')
	},
}
