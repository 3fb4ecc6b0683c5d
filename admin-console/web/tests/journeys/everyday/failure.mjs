// The day's round: a by-hand workflow is run with parameters, fails, its cause is read on Home, it is mended, redone, and the
// link that a webhook was told opens the very attempt. By mouse, and by keys alone.
import { api, command, facts, is, open, page, server, shot, until } from '../kit.mjs'
import { saveAs } from '../hands.mjs'

const SAID = 'no shelf named s014'
const text = (name, script) => `workflow: ${name}
project: byhand
parameters: {store: s001}
alerts:
  - {when: [failed], to: [webhook:hook]}
defaults: {cycle: none, type: shell, retry: {attempts: 1}}
tasks:
  count: {params: {script: ${JSON.stringify(script)}}}
  report: {needs: [{task: count, depend: 1}], params: {script: 'true'}}
`
const FAILS = 'if [ ${store} = s014 ]; then echo "ERROR no shelf named ${store}" >&2; exit 3; fi'
const MENDED = 'echo counting ${store}'
const apply = name => command('apply', { documents: [{ name: name + '.yaml', text: text(name, FAILS) }] })
const cause = name => page.waitForSelector(`.needs li:has-text("byhand/${name}"):has-text("count"):has-text("${SAID}")`)
const states = async name =>
	Object.fromEntries((await api(`instances?task=byhand/${name}/*`)).items.map(i => [i.task.split('/').pop(), i.state]))
const ended = name =>
	until(`${name} has gone well`, async () => {
		const all = Object.values(await states(name))
		return all.length === 2 && all.every(s => s === 'Succ')
	})
/* The link of the alert: the attempt that failed, though another has gone well since. */
async function theVeryAttempt(name) {
	const [alert] = await server('told', { task: `byhand/${name}/count` })
	is('the link is of this console', alert.link.startsWith(`${facts.url}/p/byhand/${name}/count/`))
	is('and names the attempt', alert.link.endsWith('?run=1&attempt=1'))
	await page.goto(alert.link)
	await page.waitForSelector(`.instance-panel .log-view .line:has-text("${SAID}")`)
	is(
		'it is over well by now',
		(await page.locator('.instance-head [data-kind=succ], .instance-head:has-text("Succeeded")').count()) > 0,
	)
}
/* Tab, until the focus is there: what no key reaches fails here. */
async function tabTo(selector, most = 120) {
	for (let n = 0; n < most; n++) {
		if (await page.evaluate(s => document.activeElement?.matches(s), selector)) return
		await page.keyboard.press('Tab')
	}
	throw new Error(`no key leads to ${selector}`)
}
async function palette(words, entry) {
	await page.keyboard.press('Control+k')
	await page.waitForSelector('.palette')
	await page.keyboard.insertText(words)
	await page.waitForSelector(`.palette-item[aria-selected=true]:has-text("${entry}")`)
	await page.keyboard.press('Enter')
	await page.waitForSelector('.palette', { state: 'detached' })
}

export default {
	'by mouse: run with parameters, failed, read on Home, mended, redone, told with a link to the very attempt':
		async () => {
			await apply('shelves')
			await open('/w/byhand/shelves')
			await page.click('.title-line [data-start]')
			await page.fill('#run-param-store', 's014')
			await page.click('[data-start-go]:not([disabled]):has-text("Start 2 instances")')
			await page.waitForURL(/\/ops\/commands\/\d+$/)
			await page.click('.rail a:has-text("Home")')
			await cause('shelves')
			await shot('home-cause')
			/* Mended. */
			await open('/w/byhand/shelves')
			await page.click('[data-edit]')
			await page.click('.editor-bar [role=tab]:has-text("YAML")')
			await page.locator('.editor-yaml .cm-content').click()
			await page.keyboard.press('Control+a')
			await page.keyboard.press('Delete')
			await page.keyboard.insertText(text('shelves', MENDED))
			await page.waitForSelector('[data-problems]:has-text("No problems")')
			await saveAs('the shelf is new', 2)
			/* Redone, from where its failure is read. */
			await page.click('.rail a >> nth=0')
			await page.click(`.needs li:has-text("byhand/shelves") button:has-text("Redo")`)
			await page.click('[data-go]:not([disabled]):has-text("Redo 1")')
			await page.waitForSelector('.needs li:has-text("byhand/shelves")', { state: 'detached' })
			await ended('shelves')
			await theVeryAttempt('shelves')
		},
	'by keys alone: the same': async () => {
		await apply('ledger')
		await open('/')
		await palette('run byhand/ledger', 'Run byhand/ledger')
		await page.waitForSelector('#run-param-store')
		await tabTo('#run-param-store')
		await page.keyboard.type('s014')
		await page.waitForSelector('[data-start-go]:not([disabled]):has-text("Start 2 instances")')
		await page.keyboard.press('Enter')
		await page.waitForURL(/\/ops\/commands\/\d+$/)
		await page.keyboard.press('g')
		await page.keyboard.press('h')
		await cause('ledger')
		await palette('byhand/ledger', 'byhand/ledger')
		await page.waitForURL(/\/w\/byhand\/ledger$/)
		await page.waitForSelector('[data-edit]')
		await tabTo('[data-edit]')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.editor-bar')
		await page.waitForFunction(() => document.querySelector('canvas.graph')?.view?.place('count'))
		/* A row of tabs is one stop: arrows lead on, left of the first is the last, YAML. */
		await tabTo('.editor-bar [role=tab]')
		await page.keyboard.press('ArrowLeft')
		await page.waitForSelector('.editor-yaml .cm-content')
		await tabTo('.code-host')
		await page.keyboard.press('Control+a')
		await page.keyboard.press('Delete')
		await page.keyboard.insertText(text('ledger', MENDED))
		await page.waitForSelector('[data-problems]:has-text("No problems")')
		await page.keyboard.press('Control+s')
		await page.waitForSelector('[data-save]:not([disabled])')
		await tabTo('#save-why')
		await page.keyboard.type('the shelf is new')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.editor-bar .chip:text-is("v2")')
		await palette('redo byhand/ledger/count', 'Redo byhand/ledger/count')
		await page.waitForSelector('[data-go]:not([disabled]):has-text("Redo 1")')
		await tabTo('[data-go]')
		await page.keyboard.press('Enter')
		await page.waitForSelector('[data-go]', { state: 'detached' })
		await ended('ledger')
		await theVeryAttempt('ledger')
	},
}
