// Ten thousand instances by a query: the server's plan, a reason, an outcome for each, a drawer that a reload keeps.
import { api, axe, facts, is, open, page, settled, shot } from '../kit.mjs'

const all = facts.crowd.toLocaleString('en-US')
const query = q => '/ops/t?q=' + encodeURIComponent(q)

/* From the first rows to the whole query, to the plan of an act. */
async function planned(q, verb) {
	await open(query(q))
	await page.waitForSelector('.list-row')
	await page.click('.list-head .checkbox')
	await page.click('.list-head button:has-text("Select all matches")')
	await page.click(`[data-act=${verb}]`)
	await page.waitForSelector('[data-go]:not([disabled])')
}
const reloaded = async verb => {
	const id = await page.innerText(`.drawer:has-text("${verb}") a`)
	await page.reload()
	await page.waitForSelector(`.drawer:has-text("${verb}") a:text-is("${id}")`)
	return id.replace('#', '')
}

export default {
	'ten thousand are frozen by query: plan, reason, progress that a reload keeps, an outcome for each': async () => {
		await planned('task:lab/crowd/*', 'freeze')
		const n = (facts.crowd + 2).toLocaleString('en-US')
		is(
			'the button repeats the number: ' + (await page.innerText('[data-go]')),
			(await page.innerText('[data-go]')).includes(n),
		)
		is('the plan is by task', (await page.locator('.plan-row').count()) === 21)
		is('nothing is asked for yet', !(await api('commands?limit=50')).items.some(c => c.kind === 'freeze'))
		await page.fill('#breason', 'the source is repaired until noon')
		await settled()
		await shot('bulk-many')
		await axe('the plan of ten thousand')
		await page.click('[data-go]')
		const id = await reloaded('Freeze')
		await page.waitForSelector(`[data-outcome]:has-text("${n} done, 0 refused")`)
		await open('/ops/commands/' + id)
		await page.waitForSelector('.page-head:has-text("the source is repaired until noon")')
		await page.waitForSelector(`text="${n}/${n}"`)
		await page.waitForSelector('.table tbody tr:has-text("OK")')
		await open(query('task:lab/crowd/shard_07 date:' + facts.last))
		await page.waitForSelector('.list-row .badge:has-text("Frozen")')
	},
	'ten thousand are a success by force, those that run are refused before, each with its reason': async () => {
		await planned('task:lab/crowd/*', 'force-success')
		is(
			'the button repeats the number: ' + (await page.innerText('[data-go]')),
			(await page.innerText('[data-go]')).includes(all),
		)
		await page.click('.dialog [role=tab]:has-text("Refused")')
		await page.waitForSelector('.plan-row:has-text("an attempt runs, kill it first"):has-text("2")')
		is('by name', (await page.locator('.plan-row:has-text("busy")').count()) === 2)
		await page.fill('#breason', 'the data came by another way')
		await shot('bulk-refused')
		await page.click('[data-go]')
		const id = await reloaded('Set to success')
		await page.waitForSelector(`[data-outcome]:has-text("${all} done, 2 refused")`)
		await page.click('.drawer button[aria-expanded]')
		await page.waitForSelector('.drawer li:has-text("an attempt runs")')
		await shot('bulk-outcome')
		await axe('the drawer with what was refused')
		await open('/ops/commands/' + id)
		await page.click('.checkbox')
		await page.waitForFunction(() => document.querySelectorAll('.table tbody tr').length === 2)
		await page.waitForSelector('.table tbody tr:has-text("busy"):has-text("an attempt runs, kill it first")')
		await shot('command-refused')
		await open(query('task:lab/crowd/shard_07 date:' + facts.last))
		await page.waitForSelector('.list-row .badge:has-text("Set to success")')
		const left = (
			await api(`instances?task=${encodeURIComponent('lab/crowd/*')}&states=DependenceFinish,Ready&limit=1`)
		).items.length
		is('none of them waits', left === 0)
	},
}
