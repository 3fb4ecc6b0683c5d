// Use against limits by project, on the page of the server.
import { axe, command, is, open, page } from '../kit.mjs'

export default {
	'the system page has use and limit of each project': async () => {
		await command('quota-set', { project: 'retail', running: 40 })
		await open('/ops/system')
		await page.waitForSelector('[data-quotas] [data-project=retail]:has-text("of 40")')
		is('tasks', /\d/.test(await page.innerText('[data-quotas] [data-project=retail] td:last-child')))
		await axe('use and limits')
		await command('quota-set', { project: 'retail', running: 0 })
	},
}
