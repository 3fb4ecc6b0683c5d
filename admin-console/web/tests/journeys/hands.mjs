// What a hand does in the editor: cards picked, joined, named; forms filled; a version saved.
import { page } from './kit.mjs'

export const drawing = () => page.locator('canvas.graph')
export const card = id => page.evaluate(id => document.querySelector('canvas.graph').view.place(id), id)
export const settledOn = text => page.waitForSelector(`[data-problems]:has-text("${text}")`)
export async function pick(id) {
	await page.waitForFunction(id => document.querySelector('canvas.graph')?.view.place(id), id)
	const b = await drawing().boundingBox(),
		p = await card(id)
	await page.mouse.click(b.x + p.x, b.y + p.y)
	await page.waitForSelector(`.inspector h2:text-is("${id}")`)
}
export async function wireUp(from, to) {
	const b = await drawing().boundingBox(),
		p = await card(from),
		q = await card(to)
	await page.mouse.move(b.x + p.port, b.y + p.y)
	await page.mouse.down()
	await page.mouse.move(b.x + q.x - 40, b.y + q.y, { steps: 4 })
	await page.mouse.up()
}
export async function named(name) {
	await page.waitForFunction(() => document.activeElement?.id === 'ed-name')
	await page.keyboard.press('Control+a')
	await page.keyboard.type(name)
	await page.keyboard.press('Enter')
	await page.waitForSelector(`.inspector h2:text-is("${name}")`)
}
export const side = tab => page.click(`.inspector [role=tab]:has-text("${tab}")`)
export const say = (label, text) => page.fill(`.inspector .field:has(label:text-is("${label}")) input`, text)
export const choose = (label, value) =>
	page.selectOption(`.inspector .field:has(label:text-is("${label}")) select`, value)
export async function script(text) {
	await side('Script')
	await page.locator('.script-tab .cm-content').click()
	await page.keyboard.press('Control+a')
	await page.keyboard.type(text)
}
export async function saveAs(why, version) {
	await page.keyboard.press('Control+s')
	await page.waitForSelector('[data-save]:not([disabled])')
	await page.fill('#save-why', why)
	await page.keyboard.press('Enter')
	await page.waitForSelector(`.editor-bar .chip:text-is("v${version}")`)
}
