// Every page there is: what router.ts says, with something real for each :parameter, and states worth a look of their own.
import { readFileSync } from 'node:fs'
import { facts, run } from './kit.mjs'

/* A path with a parameter needs an example here. */
const examples = {
	'/w/:project/:workflow': '/w/retail/trade_daily',
	'/w/:project/:workflow/edit': '/w/retail/trade_daily/edit',
	'/r/:project/:workflow/:label': run,
	'/ops/commands/:id': '/ops/commands/1',
	'/:rest(.*)*': '/nowhere',
}
const more = ['/w/retail/trade_daily?tab=text', '/w/retail/trade_daily/edit?view=list', '/w/retail/trade_daily/edit?view=yaml',
	run + '?view=gantt', run + '?view=list', '/ops/t?q=state:failed']

export function pages() {
	const text = readFileSync(new URL('../../src/router.ts', import.meta.url), 'utf8')
	const found = [...text.matchAll(/path: '([^']+)'/g)].map((m) => m[1])
	return [...found.map((path) => {
		if (path.includes(':') && !examples[path]) throw new Error(`${path} of router.ts has no example in tests/journeys/pages.mjs`)
		return (examples[path] ?? path).replace('LAST', facts.last)
	}), ...more]
}
