// journeys.mjs FOLDER [WORD...]: the journeys of tests/journeys/FOLDER/*.mjs, in the order of their names, those whose
// name holds a word if words are given. Started by tests/e2e/console.py, which makes the site they walk through.
import { readdirSync } from 'node:fs'

const [folder, ...only] = process.argv.slice(2)
const here = new URL(`./journeys/${folder}/`, import.meta.url)
const found = []
for (const file of readdirSync(here)
	.filter(f => f.endsWith('.mjs'))
	.sort())
	found.push(...Object.entries((await import(new URL(file, here))).default))
const { walk } = await import('./journeys/kit.mjs')
process.exit((await walk(found.filter(([name]) => !only.length || only.some(o => name.includes(o))))) ? 1 : 0)
