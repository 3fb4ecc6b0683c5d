// Who has not shown the password for a while is asked for it before what lets others in changes; what was refused is sent then.
// The last file of its folder: once the server knows an administrator, the face's own `admin` changes nobody's access.
import { api, axe, is, open, page, provoke, server, signIn } from '../kit.mjs'

const PASSWORD = 'a long word for paula only'
const asked = 'dialog[open] input[type=password]'
const fill = async name => {
	await open('/people')
	await page.click('.page-head .button.primary')
	await page.fill('#p-user', name)
	await page.fill('#p-pass', 'only to look around')
	await page.click('.dialog button[type=submit]')
}
const people = async () => (await api('users')).users.map(u => u.user)

export default {
	'the password is asked for again: who leaves it changes nothing, a wrong one is said, the right one does what was refused':
		async () => {
			await api('users', { user: 'paula', role: 'admin', password: PASSWORD })
			await signIn('paula', PASSWORD)
			/* What was shown is in the server's memory alone: after a start nobody has shown anything. */
			provoke(/401/, /403/, /50[234]/)
			await server('forget_proofs')
			await fill('polly')
			await page.waitForSelector(asked)
			await page.waitForFunction(sel => document.activeElement === document.querySelector(sel), asked)
			await axe('the password, once more')
			await page.keyboard.press('Escape')
			await page.waitForSelector(asked, { state: 'detached' })
			await page.waitForSelector('.dialog [role=alert]:has-text("password")')
			is('nothing has changed', !(await people()).includes('polly'))

			await page.click('.dialog button[type=submit]')
			await page.fill(asked, 'not this one')
			await page.keyboard.press('Enter')
			await page.waitForSelector('dialog[open] [role=status]:has-text("wrong")')
			is('it is still refused', !(await people()).includes('polly'))
			await page.fill(asked, PASSWORD)
			await page.click('dialog[open] button[type=submit]')
			await page.waitForSelector(asked, { state: 'detached' })
			await page.waitForSelector('.table .name:has-text("polly")')

			await fill('pavel')
			await page.waitForSelector('.table .name:has-text("pavel")')
			is('once shown, it is not asked for again', (await page.locator(asked).count()) === 0)
			await signIn()
		},
}
