// The text of a document knows what may stand in it: completed, explained and marked by the server's own schema, by keys alone too.
import { axe, is, open, page, prefer, provoke, usual } from '../kit.mjs'

const LIST = '.cm-tooltip-autocomplete'
const text = () =>
	page.evaluate(() => document.querySelector('.code-host').view.state.doc.toString()) /* as it is, not as it is drawn */
async function write(all) {
	await page.locator('.code-host .cm-content').click()
	await page.keyboard.press('Control+a')
	await page.keyboard.press('Delete')
	await page.keyboard.insertText(all)
}
/* Ctrl-Space opens what may stand there, also where a list that came by typing stands already. */
async function offered(label) {
	await page.keyboard.press('Control+Space')
	await page.waitForSelector(`${LIST} .cm-completionLabel:has-text("${label}")`)
}
/* CodeMirror takes no choice from a list that has stood for less than 75 ms (its interactionDelay): Enter is a line's end until then. */
async function take(label) {
	await page.waitForFunction(
		([list, text]) => {
			const chosen = document.querySelector('.code-host').shadowRoot.querySelector(`${list} li[aria-selected=true]`)
			if (!chosen?.textContent.includes(text)) return false
			chosen.stood ??= performance.now()
			return performance.now() - chosen.stood > 75
		},
		[LIST, label],
	)
	await page.keyboard.press('Enter')
}
const help = has => page.waitForSelector(`[data-help]:has-text("${has}")`)
const yaml = async () => {
	await open('/new?project=hinted&view=yaml')
	await page.waitForSelector('[data-help]')
}

export default {
	'YAML is completed from the keys, values and task types that the server knows, by keys alone': async () => {
		await yaml()
		await write('workflow: hinted\nproject: hinted\ntasks:\n  load:\n    ')
		await offered('type')
		await page.keyboard.type('ty')
		await take('type')
		/* A key with values asks for them itself. */
		await page.waitForSelector(`${LIST} li:has-text("shell")`)
		await axe('completion in the editor')
		await page.keyboard.type('shel')
		await take('shell')
		await page.keyboard.insertText('\n    cycle: day\n    params:\n      ')
		await offered('script')
		await page.keyboard.type('dire')
		await take('directory')
		is(
			'what was chosen stands there',
			(await text()).endsWith('type: shell\n    cycle: day\n    params:\n      directory: '),
		)
		await page.keyboard.insertText('/tmp\n  report:\n    needs: [')
		await offered('load')
		await page.keyboard.press('Escape')
		await page.waitForSelector(LIST, { state: 'detached' })
	},
	'the place of the cursor is explained for who has no mouse, what does not fit is marked and said': async () => {
		await yaml()
		await write('workflow: hinted\nproject: hinted\ntasks:\n  load: {type: noop, cycle: day}\n  \n')
		await page.keyboard.press('Control+Home')
		await help('The name of the workflow')
		await page.locator('.code-host .cm-line:has-text("project")').hover()
		await page.locator('.code-host .cm-line:has-text("cycle") >> text=cycle').first().hover()
		await page.waitForSelector('.hint-card:has-text("How long one period is")')
		await write('workflow: hinted\nproject: hinted\ntasks:\n  load: {type: noop, cylce: day}\n')
		await page.waitForSelector('.code-host .cm-lintRange-error')
		await page.keyboard.press('ArrowUp')
		await help('Was cycle meant?')
		await axe('a mark in the editor')
		await prefer({ ...usual, lang: 'zh' })
		await page.reload()
		await page.waitForSelector('[data-help]')
		await page.locator('.code-host .cm-content').click()
		await page.keyboard.press('Control+Home')
		await help('工作流的名称')
		await prefer(usual)
	},
	'a calendar and a pipeline have their own keys': async () => {
		await yaml()
		await write('pipeline: hinted\nsteps:\n  - ')
		await offered('dependence')
		await page.keyboard.press('Escape')
		/* The server judges each text too. */
		provoke(/400/)
		await open('/calendars?c=hinted')
		await page.click('[role=tab]:has-text("Text"), .segments button:has-text("Text")')
		await page.waitForSelector('[data-help]')
		await write('calendar: hinted\nwee')
		await offered('weekends')
		await page.keyboard.press('Escape')
		await write('calendar: hinted\nweekend: [saturday]')
		await help('weekends')
		await write('calendar: hinted\nweekends: [saturday, sunday]\n')
		await page.waitForSelector('.code-host .cm-lintRange-error', { state: 'detached' })
		/* The editor wrote its draft when it was left: whoever begins a new workflow next finds none. */
		await page.evaluate(() => localStorage.removeItem('sirdar-draft:'))
	},
}
