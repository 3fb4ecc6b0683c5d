// Permanent links: /p/PROJECT/WORKFLOW/TASK/LABEL opens an instance, with ?run= and ?attempt= the very attempt; what is not there is said.
import { api, axe, command, facts, is, open, page, provoke, until } from '../kit.mjs'

const TASK = 'byhand/linked/twice'
const text = `workflow: linked
project: byhand
timezone: UTC
start_date: ${facts.last}
end_date: ${facts.last}
defaults: {cycle: day, type: shell, catchup: {mode: all, max: 10}, retry: {attempts: 2, delay: 0s}}
tasks:
  twice: {params: {script: 'echo "this is attempt $SIRDAR_ATTEMPT"; exit 3'}}
`
const stopped = generation =>
	until(`run ${generation} has failed`, async () => {
		const [i] = (await api('instances?task=' + TASK)).items
		return i?.state === 'StopSchedule' && i.generation === generation
	})
const line = n => page.waitForSelector(`.instance-panel .log-view .line:has-text("this is attempt ${n}")`)
const link = `/p/${TASK}/${facts.last}`

export default {
	'a permanent link opens the instance, and with ?run= and ?attempt= the attempt that it names': async () => {
		await open('/')
		await command('apply', { documents: [{ name: 'linked.yaml', text }], from: facts.last })
		await stopped(1)
		await open(link)
		await page.waitForSelector(`.instance-panel:has-text("${facts.last}")`)
		await open(link + '?attempt=1')
		await line(1)
		await axe('a permanent link')
		await open(link + '?attempt=2')
		await line(2)
		await command('redo', { selection: { tasks: [TASK], dates: [facts.last] } })
		await stopped(2)
		/* Of the run before the redo. */
		await open(link + '?run=1&attempt=1')
		await line(1)
		is('nothing lacks', (await page.locator('.note[role=status]').count()) === 0)
		await open(link + '?run=2')
		await line(2)
		/* Before the console's own address, as messages carry it; and a date in words. */
		await page.goto(`${facts.url}${link}?run=2&attempt=1`)
		await page.waitForURL(/\/ui\/p\/byhand/)
		await line(1)
		await open(`/p/${TASK}/yesterday`)
		await page.waitForSelector(`.panel[aria-label="${TASK} ${facts.last}"]`)
	},
	'what a link names and is not there is said, with what is there': async () => {
		await open('/')
		await command('apply', { documents: [{ name: 'linked.yaml', text }], from: facts.last })
		await until('it is there', async () => (await api('instances?task=' + TASK)).items.length === 1)
		await open(link + '?run=9&attempt=7')
		await page.waitForSelector('[role=status]:has-text("It has no attempt 7 of run 9")')
		provoke(/40[04]/)
		await open(`/p/byhand/linked/nobody/${facts.last}`)
		await page.waitForSelector('[data-absent]:has-text("No such task")')
		await open(`/p/${TASK}/someday`)
		await page.waitForSelector('[data-absent]:has-text("someday")')
		await axe('a link that leads nowhere')
		is('the list of the task is offered', (await page.locator('[data-absent] a').count()) === 1)
		is('one instance', (await api('instances?task=' + TASK)).items.length === 1)
	},
}
