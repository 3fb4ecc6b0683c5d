// Every page there is: what router.ts says, with something real for each :parameter, and states worth a look of their own.
import { readFileSync } from 'node:fs'
import { facts, run } from './kit.mjs'

/* What stands for each parameter of a path; one that may be left out is visited both ways. */
const examples = {
	project: 'retail',
	workflow: 'trade_daily',
	label: facts.last,
	id: '1',
	type: 'shell',
	rest: 'nowhere',
	task: 'dwd_pay_refund_di',
	name: 'trade_daily',
}
function real(path, whole) {
	return (
		path.replace(/\/:(\w+)(\([^)]*\))?([?*]?)/g, (_, name, kind, many) => {
			if (many === '?' && !whole) return ''
			if (!(name in examples))
				throw new Error(`:${name} in ${path} of router.ts has no example in tests/journeys/pages.mjs`)
			return '/' + examples[name]
		}) || '/'
	)
}
const more = [
	'/w/retail/trade_daily?tab=text',
	'/w/retail/trade_daily/edit?view=list',
	'/w/retail/trade_daily/edit?view=yaml',
	run + '?view=gantt',
	run + '?view=list',
	'/ops/t?q=state:failed',
	'/people?tab=sessions',
]

const found = [
	...readFileSync(new URL('../../src/router.ts', import.meta.url), 'utf8').matchAll(/path: '([^']+)'/g),
].map(m => m[1])
/* Whether some route, other than the one for all the rest, is this path's. */
export const has = path =>
	found.some(
		p =>
			!p.includes('*') &&
			new RegExp('^' + p.replace(/\/:\w+\?/g, '(/[^/]+)?').replace(/:\w+/g, '[^/]+') + '$').test(path.split('?')[0]),
	)

export function pages() {
	return [...new Set([...found.flatMap(path => [real(path, false), real(path, true)]), ...more])]
}
