// Failures by cause: what failed for one reason is one line, its instances open, one act runs all of them again.
import { axe, command, is, open, page, shot } from '../kit.mjs'

const text = `workflow: broken
project: causes
start_date: 2026-11-01
end_date: 2026-11-03
timezone: UTC
defaults: {type: shell, cycle: day, retry: {attempts: 1}, catchup: {mode: all, max: 10}}
tasks:
  load: {params: {script: "echo \\"<b>$(date +%N)</b> rows: Connection refused\\" >&2; exit 3"}}
  next: {params: {script: "exit 0"}, needs: [load]}
`
const row = '[data-causes] li:has-text("rows: Connection refused")'

export default {
	'failures of one cause are one line, and one act runs them again': async () => {
		await open('/ops/failures')
		await command('apply', { documents: [{ name: 'broken.yaml', text }], from: '2026-11-01' })
		await page.waitForSelector(`${row}:has-text("3 instances"):has-text("3 failed")`)
		is('what was printed is text', (await page.locator(`${row} b:has-text("rows")`).count()) === 0)
		await axe('failures by cause')
		await shot('failures')
		await page.click(`${row} button:has-text("Instances")`)
		await page.waitForSelector(`${row} .members li:has-text("2026-11-02")`)
		await page.click(`${row} button:has-text("Redo 3")`)
		await page.waitForSelector('.dialog:has-text("3")')
		await page.keyboard.press('Escape')
		await page.click(`${row} .members a >> nth=0`)
		await page.waitForURL(/ops\/t.*causes/)
	},
	'home has the failures of the day, a run its first cause': async () => {
		await open('/')
		await page.waitForSelector('[data-day] li:has-text("rows: Connection refused")')
		await open('/r/causes/broken/2026-11-02')
		await page.waitForSelector('[data-why-run] li:has-text("load failed"):has-text("1 instance waits for it")')
		await axe('the first cause of a run')
	},
}
