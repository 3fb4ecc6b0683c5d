// The editor: drawing by mouse and by keyboard alone, schedule, links, test run, versions, two people, a large drawing.
import { axe, browser, command, facts, is, open, page, provoke, shot } from '../kit.mjs'
import { choose, drawing, named, pick, saveAs, say, script, settledOn, side, wireUp } from '../hands.mjs'

export default {
	'a workflow is drawn by mouse, previewed, tried, saved, run; it fails, is mended and done again': async () => {
		const day = facts.days[5] // yesterday's load is due at 02:30 today: not yet, just after midnight
		await open('/w')
		await page.click('[data-new]')
		await page.waitForSelector('.palette-type:has-text("Shell")')
		await say('Name', 'drawn')
		await page.fill('.inspector .field:has(label:text-is("Project")) input', 'lab')
		await page.fill('.inspector .field:has(label:text-is("First date")) input', day)
		for (const [type, name, x, y] of [
			['Nothing', 'orders_hi', 140, 150],
			['Nothing', 'users_di', 140, 320],
			['Shell', 'load_di', 380, 210],
			['Nothing', 'check_di', 380, 360],
			['Nothing', 'report_di', 600, 280],
		]) {
			await page.locator(`.palette-type:has-text("${type}")`).dragTo(drawing(), { targetPosition: { x, y } })
			await page.waitForSelector('.inspector #ed-name')
			await page.fill('#ed-name', name)
			await page.press('#ed-name', 'Enter')
			await page.waitForSelector(`.inspector h2:text-is("${name}")`)
		}
		for (const [a, b] of [
			['orders_hi', 'load_di'],
			['users_di', 'load_di'],
			['users_di', 'check_di'],
			['load_di', 'report_di'],
			['check_di', 'report_di'],
		])
			await wireUp(a, b)
		await wireUp('report_di', 'users_di')
		await page.waitForSelector('.toast:has-text("circle")')
		await pick('orders_hi')
		await side('Schedule')
		await choose('Cycle', 'hour')
		await pick('load_di')
		await side('Schedule')
		await choose('Fires', 'end')
		await say('plus', '2h30m')
		await say('Time zone', 'America/New_York')
		await settledOn('problem')
		await script('echo reading orders\nexit 3')
		await settledOn('No problems')
		await side('Schedule')
		await page.waitForSelector('.fires .separator')
		is('ten fires and those about the change of the clock', (await page.locator('.fires tbody tr').count()) >= 13)
		await page.waitForSelector('.words:has-text("02:30 in New York")')
		await shot('editor')
		await say('Time zone', '')
		await side('Links')
		await page.waitForSelector('.need:has-text("orders_hi") .preview .fire >> nth=23')
		is('a day waits for its hours', (await page.innerText('.need:has-text("orders_hi")')).includes('all in its period'))
		await axe('the editor with a link')
		await shot('editor-links')
		await saveAs('first drawing', 1)
		await page.waitForURL(/\/w\/lab\/drawn\/edit/)
		await pick('load_di')
		await page.click('[data-test]')
		await page.waitForSelector('.test-run .value-cell:has-text("reading orders")')
		await axe('the test run')
		await page.click('[data-test-run]')
		await page.waitForSelector('.test-run .log-view .line:has-text("reading orders")')
		await shot('editor-test-run')
		await page.keyboard.press('Escape')
		await command('backfill', { selection: { workflow: 'lab/drawn', from: day, to: day } })
		await open('/ops/t?q=' + encodeURIComponent('task:lab/drawn/load_di state:failed date:' + day))
		await page.click('.list-row[data-state=StopSchedule] .row-name')
		await page.waitForSelector('.dialog.side .log-view .line:has-text("reading orders")')
		await page.keyboard.press('Escape')
		await open('/w/lab/drawn')
		await page.click('[data-edit]')
		await pick('load_di')
		await script('echo reading orders\necho done')
		await page.keyboard.press('Escape')
		await page.waitForSelector('.version-chip:has-text("1 change")')
		await page.click('.version-chip')
		await page.waitForSelector('.diff-note')
		await shot('editor-diff')
		await page.click('.version-chip')
		await settledOn('No problems')
		await page.click('[data-test]')
		await page.click('[data-test-run]:has-text("drawn version")')
		await page.waitForSelector('.test-run .log-view .line:has-text("done")')
		await page.keyboard.press('Escape')
		await saveAs('the table is read', 2)
		await open('/ops/t?q=' + encodeURIComponent('task:lab/drawn/load_di state:failed date:' + day))
		await page.click('.list-row[data-state=StopSchedule] .checkbox')
		await page.click('[data-act=redo]')
		await page.selectOption('#bmode', 'with_downstream')
		await page.click('[data-go]:not([disabled])')
		await page.waitForSelector('[data-outcome]:has-text("done")')
		await open('/ops/t?q=' + encodeURIComponent('task:lab/drawn/report_di date:' + day))
		await page.waitForSelector('.list-row[data-state=Succ]')
	},
	'a drawing that nobody saved is tried, up to a task and whole, read and ended': async () => {
		await open('/new?project=lab')
		await page.waitForSelector('.palette-type:has-text("Shell")')
		await say('Name', 'untried')
		await page.fill('.inspector .field:has(label:text-is("First date")) input', facts.days[5])
		for (const [name, x] of [
			['first', 140],
			['second', 380],
			['third', 620],
		]) {
			await page.locator('.palette-type:has-text("Shell")').dragTo(drawing(), { targetPosition: { x, y: 200 } })
			await page.waitForSelector('.inspector #ed-name')
			await page.fill('#ed-name', name)
			await page.press('#ed-name', 'Enter')
			await page.waitForSelector(`.inspector h2:text-is("${name}")`)
		}
		for (const name of ['first', 'second', 'third']) {
			await pick(name)
			await script(name === 'second' ? 'echo reading\nexit 3' : `echo ${name} is here`)
		}
		await wireUp('first', 'second')
		await wireUp('second', 'third')
		await settledOn('No problems')
		await pick('first')
		await page.keyboard.press('r')
		await page.waitForSelector('.test-run [aria-pressed=true]:has-text("Up to first")')
		await axe('a test run of a drawing')
		await page.click('[data-test-run]')
		await page.waitForSelector('.test-run [data-member=first][data-state=Succ]')
		await page.waitForSelector('.test-run .log-view .line:has-text("first is here")')
		await page.waitForSelector('[data-trial-state]:has-text("is over: 1 task")')
		await page.click('.test-run [data-trial-close]')
		await page.click('.test-run .segments button:has-text("All tasks")')
		await page.click('[data-test-run]')
		await page.waitForSelector('.test-run [data-member=second][data-state=StopSchedule]')
		await page.waitForSelector('.test-run [data-member=third][data-state=Skipped]')
		await page.click('.test-run [data-member=second]')
		await page.waitForSelector('.test-run .log-view .line:has-text("reading")')
		await shot('editor-test-run-whole')
		await page.keyboard.press('Escape')
		const cards = await page.evaluate(() => document.querySelector('canvas.graph').view.states())
		is(
			`cards show how it went: ${JSON.stringify(cards)}`,
			cards.first === 'succ' && cards.second === 'failed' && cards.third === 'skipped',
		)
		await page.waitForSelector('[data-trial]:has-text("is over")')
		await page.click('[data-trial] [data-trial-close]')
		await pick('first')
		await script('sleep 600')
		await settledOn('No problems')
		await page.keyboard.press('Escape')
		await page.click('[data-test]')
		await page.click('.test-run .segments button:has-text("All tasks")')
		await page.click('[data-test-run]')
		await page.waitForSelector('.test-run [data-member=first][data-state=Running]')
		await page.click('[data-trial-stop]')
		await page.waitForSelector('.test-run [data-member=first][data-state=Killed]')
		await page.waitForSelector('[data-trial-state]:has-text("is over")')
		await page.keyboard.press('Escape')
		await open('/w?q=untried')
		is('nothing of it stands in the list', (await page.locator('text=untried').count()) === 0)
		await open('/new?project=lab') // the browser's own draft of it goes, too
		await page.click('.strip-note:has(button:text-is("Keep")) button:text-is("Discard the draft")')
		await page.waitForSelector('.editor-empty')
	},
	'a save says when it first runs, and a draft runs nothing': async () => {
		await open('/new?project=lab')
		await page.waitForSelector('.palette-type:has-text("Nothing")')
		await say('Name', 'planned')
		await page.fill('.inspector .field:has(label:text-is("First date")) input', facts.days[5])
		await page.locator('.palette-type:has-text("Nothing")').dragTo(drawing(), { targetPosition: { x: 200, y: 200 } })
		await page.waitForSelector('.inspector #ed-name')
		await page.fill('#ed-name', 'load')
		await page.press('#ed-name', 'Enter')
		await settledOn('No problems')
		await page.click('[data-save-open]')
		await page.waitForSelector('[data-fires]:has-text("First run: load for")')
		await shot('editor-save-first')
		await page.click('[data-save-draft]')
		await page.waitForURL(/\/w\/lab\/planned\/edit/)
		const saved = await page.evaluate(async () => (await fetch('/api/v1/workflows/lab/planned')).json())
		is('it is a draft', saved.document.includes('state: draft'))
	},
	'five tasks by keyboard alone: added, named, joined, undone, moved, found, saved': async () => {
		await open('/new?project=lab')
		await page.waitForSelector('.palette-type')
		await page.keyboard.press('F2')
		await page.waitForFunction(() => document.activeElement?.closest('.inspector') !== null)
		await page.keyboard.press('Control+a')
		await page.keyboard.type('typed')
		await page.keyboard.press('Escape')
		for (const [name, from] of [
			['one', ''],
			['two', ''],
			['three', 'ArrowLeft'],
			['four', ''],
			['five', ''],
		]) {
			if (from) await page.keyboard.press(from)
			await page.keyboard.press('a')
			await page.waitForSelector('.palette-item')
			await page.keyboard.type('noth')
			await page.keyboard.press('Enter')
			await named(name)
			await page.waitForFunction(() => document.activeElement?.tagName === 'CANVAS')
		}
		/* one feeds two and three, three feeds four, four feeds five; two is joined to five by its name. */
		await page.keyboard.press('/')
		await page.keyboard.type('two')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.inspector h2:text-is("two")')
		await page.keyboard.press('c')
		await page.waitForSelector('.palette-item:has-text("five")')
		await page.keyboard.type('five')
		await page.keyboard.press('Enter')
		await page.waitForSelector('.palette', { state: 'detached' })
		await page.keyboard.press('Control+z')
		await page.keyboard.press('Control+Shift+Z')
		await page.keyboard.press('Control+c')
		await page.keyboard.press('Control+v')
		await page.waitForSelector('.inspector h2:text-is("two_2")')
		await page.keyboard.press('Delete')
		await page.keyboard.press('Shift+ArrowDown')
		await page.keyboard.press('l')
		await settledOn('No problems')
		await saveAs('by keyboard', 1)
		await page.waitForURL(/\/w\/lab\/typed\/edit/)
		const links = await page.evaluate(async () =>
			(await (await fetch('/api/v1/graph/lab/typed')).json()).links
				.map(l => (l.parent + '>' + l.child).replaceAll('lab/typed/', ''))
				.sort()
				.join(' '),
		)
		is('the links: ' + links, links === 'four>five one>three one>two three>four two>five')
	},
	'two people edit one workflow: the second merges': async () => {
		await open('/w/lab/typed/edit')
		await pick('five')
		const other = await browser.newPage()
		await other.goto(facts.url + '/ui/w/lab/typed/edit?view=list')
		await other.waitForSelector('.task-row')
		for (const [name, column, text] of [
			['five', 'owner', 'wang.hao'],
			['one', 'priority', '9'],
		]) {
			const cell = other
				.locator(
					`.task-row:has(input[value="${name}"]) [data-col=${column}], .task-row [data-col=${column}][aria-label$=" ${name}"]`,
				)
				.first()
			await cell.fill(text)
			await cell.press('Tab')
		}
		await other.waitForSelector('.version-chip:has-text("2 changes")')
		await other.keyboard.press('Control+s')
		await other.click('[data-save]:not([disabled])')
		await other.waitForSelector('.editor-bar .chip:text-is("v2")')
		await other.close()
		await page.bringToFront()
		await say('Owner', 'lin.yue')
		await page.fill('.inspector textarea', 'mine alone')
		provoke(/409/)
		await page.keyboard.press('Control+s')
		await page.click('[data-save]:not([disabled])')
		await page.waitForSelector('.conflict')
		provoke()
		await page.waitForSelector('.column-name > li')
		is(
			'one thing both changed: ' + (await page.locator('.column-name').innerText()),
			(await page.locator('.column-name > li').count()) === 1,
		)
		await axe('the conflict')
		await page.click('.conflict-side:has-text("wang.hao")')
		await shot('editor-conflict')
		await page.click('[data-merge]')
		await saveAs('merged', 3)
		const text = await page.evaluate(async () => (await (await fetch('/api/v1/workflows/lab/typed')).json()).document)
		is(
			'both are in it: ' + text,
			/owner: wang.hao/.test(text) && /mine alone/.test(text) && /priority: 9/.test(text) && !/lin.yue/.test(text),
		)
	},
	'ticked rows of the list are changed at once, and taken back at once': async () => {
		await open('/w/retail/trade_daily/edit?view=list')
		await page.waitForSelector('.task-rows .task-row')
		const rows = page.locator('.task-rows .task-row'),
			n = await rows.count(),
			of = column => page.locator(`.task-rows [data-col=${column}]`).evaluateAll(all => all.map(x => x.value).join(' '))
		const before = await of('priority')
		await rows.nth(0).locator('[data-col=mark]').check()
		await rows.nth(1).locator('[data-col=mark]').press('Space')
		await page.waitForSelector('.many-bar b:text-is("2 selected")')
		await page.click('.rows-head .checkbox')
		await page.waitForSelector(`.many-bar b:text-is("${n} selected")`)
		await axe('the list with ticked rows')
		await page.fill('[data-many-value]', '8')
		await page.press('[data-many-value]', 'Enter')
		await page.waitForSelector('.toast:has-text("Priority changed")')
		is('all have it', (await of('priority')) === Array(n).fill('8').join(' '))
		await page.selectOption('[data-many-field]', 'attempts')
		await page.fill('[data-many-value]', '4')
		await page.click(`[data-many-do]:has-text("Change ${n} tasks")`)
		await settledOn('No problems')
		await page.click('.many-bar [aria-label="Select none"]')
		for (let i = 0; i < 2; i++) await page.click('.editor-bar [aria-label^="Undo"]')
		await page.waitForFunction(
			before => [...document.querySelectorAll('.task-rows [data-col=priority]')].map(x => x.value).join(' ') === before,
			before,
		)
		is('nothing is left to undo', await page.locator('.editor-bar [aria-label^="Undo"]').isDisabled())
	},
	'a fault in the text is underlined where it stands, by nothing that the policy refuses': async () => {
		await open('/w/retail/trade_daily/edit?view=yaml')
		await page.locator('.editor-yaml .cm-content').click()
		await page.keyboard.press('Control+End')
		await page.keyboard.type('\nnosuch: 1')
		const fault = await page.waitForSelector('.editor-yaml .cm-lintRange-error')
		const [picture, line] = await fault.evaluate(e => {
			const s = getComputedStyle(e)
			return [s.backgroundImage, s.textDecoration]
		})
		is('no picture', picture === 'none')
		is('a wavy line', line.includes('underline') && line.includes('wavy'))
		await page.waitForSelector('.editor-yaml .cm-lint-marker-error')
		await page.keyboard.press('Control+z')
	},
	'a large drawing is drawn in time and moves with the hand': async () => {
		const told = []
		for (const [n, limit] of process.env.HEAVY
			? [
					[1000, 500],
					[5000, 1200],
				]
			: [[1000, 500]]) {
			await open('/new?project=lab')
			await page.waitForSelector('canvas.graph')
			const took = await page.evaluate(async n => {
				let text = 'workflow: big\ntasks:\n'
				for (let i = 0; i < n; i++)
					text += `  t${i}: {type: noop, cycle: day${i ? `, needs: [t${Math.floor(i * 0.7)}${i % 2 && i > 3 ? ', t' + Math.floor(i * 0.4) : ''}]` : ''}}\n`
				const data = new DataTransfer(),
					view = document.querySelector('canvas.graph').view,
					frame = () => new Promise(requestAnimationFrame)
				data.setData('text/plain', text)
				const there = async () => {
						while (!view.place(`t${n - 1}`)) await frame()
						await frame()
					},
					from = performance.now()
				document.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data }))
				await there()
				const pasted = performance.now() - from
				const key = more =>
					document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true, ...more }))
				key()
				while (view.place('t0')) await frame()
				const back = performance.now()
				key({ shiftKey: true })
				await there()
				const drawn = performance.now() - back
				view.fit()
				/* The server's check of so large a text and the draft are made beside: not while it is panned. */
				for (let calm = 0; calm < 3; ) {
					const left = await new Promise(go => requestIdleCallback(d => go(d.timeRemaining()), { timeout: 20000 }))
					calm = left > 5 ? calm + 1 : 0
					await frame()
				}
				const gaps = []
				for (let i = 0, last = await frame(); i < 60; i++) {
					view.panBy(i % 2 ? 8 : -8, 3)
					const now = await frame()
					gaps.push(now - last)
					last = now
				}
				/* Nothing has a place any more: the layout is made beside the page, the old picture stays till then. */
				const began = performance.now()
				document.querySelector('canvas.graph').dispatchEvent(new KeyboardEvent('keydown', { key: 'l', bubbles: true }))
				while (view.place('t5').x - view.place('t1').x < 1) await frame()
				const laid = performance.now() - began
				return { pasted, drawn, laid, pan: gaps.sort((a, b) => a - b)[56], draw: view.lastDrawMs }
			}, n)
			is(
				'it is laid out beside the page',
				page.workers().some(w => /\/assets\/worker-/.test(w.url())),
			)
			told.push(
				`${n} cards: from the document to the picture ${took.drawn.toFixed(0)} ms (a paste of its text ${took.pasted.toFixed(0)} ms, arranged ${took.laid.toFixed(0)} ms), pan p95 ${took.pan.toFixed(1)} ms, one draw ${took.draw.toFixed(1)} ms`,
			)
			/* Beside other suites on two processors: the figures are in bench/README.md, here is what would be a fault. */
			is(told.at(-1), took.drawn < limit * 8 && took.pan < 34 * 8)
			/* The editor writes its draft a moment after the last change, and when it is left: after that it can be removed. */
			await open('/w')
			await page.evaluate(() => {
				localStorage.removeItem('sirdar-draft:')
			})
		}
		for (const t of told) console.log('# ' + t)
	},
}
