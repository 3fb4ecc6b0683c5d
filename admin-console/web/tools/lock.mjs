// Takes addresses out of package-lock.json: where packages come from is the machine's business.
import { readFileSync, writeFileSync } from 'node:fs'

const path = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(path, 'utf8'))
for (const p of Object.values(lock.packages)) {
	delete p.funding
	delete p.resolved
}
writeFileSync(path, JSON.stringify(lock, null, '\t') + '\n')
