import { describe, expect, it } from 'vitest'
import { cell, columns, fromFile, meantFor, standing, yaml, type Known, type Runs } from '@/domain/plugins'

const known: Known = {
	type: 'odd',
	enabled: '2.0',
	former: '1.0',
	drained: false,
	versions: [
		{ version: '1.0', abi: 1, sha256: 'a', brokers: [], groups: [] },
		{ version: '2.0', abi: 1, sha256: 'b', brokers: ['b1'], groups: ['fast'] },
	],
}
const runs: Runs[] = [
	{ broker: 'b1', online: true, version: '2.0', state: 'ready', text: '', slots: 4 },
	{ broker: 'b2', online: true, version: '0.1', state: 'ready', text: '', slots: 2 },
	{ broker: 'b3', online: true, version: '1.0', state: 'quarantined', text: 'crashes', slots: 2 },
]
const machines = [
	{ name: 'b1', types: [{ type: 'odd', running: 3, slots: 4 }] },
	{ name: 'b2', groups: ['fast'], types: [] },
	{ name: 'b3', types: [{ type: 'odd', running: 1, slots: 2 }] },
]

describe('versions of a task type', () => {
	it('are meant for everywhere, named brokers or their groups', () => {
		expect(meantFor({ brokers: [], groups: [] }, 'x')).toBe(true)
		expect(meantFor({ brokers: ['a'], groups: [] }, 'x')).toBe(false)
		expect(meantFor({ brokers: ['a'], groups: ['g'] }, 'x', ['g'])).toBe(true)
	})
	it('stand side by side, what nobody registered last', () => {
		const c = columns('odd', known, runs, machines)
		expect(c.map(x => [x.version, x.registered, x.enabled, x.former, x.on, x.running])).toEqual([
			['1.0', true, false, true, 1, 1],
			['2.0', true, true, false, 1, 3],
			['0.1', false, false, false, 1, 0],
		])
	})
	it('show what runs, what will, what is refused', () => {
		const [one, two] = columns('odd', known, runs, machines)
		expect(cell(two!, runs[0]!, machines[0])).toBe('on')
		expect(cell(two!, runs[1]!, machines[1])).toBe('wanted')
		expect(cell(two!, runs[2]!, machines[2])).toBe('none')
		expect(cell(one!, runs[2]!, machines[2])).toBe('bad')
		expect(cell(two!, { ...runs[0]!, online: false }, machines[0])).toBe('lost')
	})
	it('say the worst first', () => {
		expect(standing(known, runs)).toBe('quarantined')
		expect(standing({ ...known, drained: true }, runs.slice(0, 2))).toBe('draining')
		expect(standing(known, [])).toBe('nowhere')
		expect(standing(known, [{ ...runs[0]!, state: 'refused' }])).toBe('broken')
	})
	it('are read off the name of a file', () => {
		expect(fromFile('C:\\x\\odd-2.0-rc1.so')).toEqual({ type: 'odd', version: '2.0-rc1' })
		expect(fromFile('odd.so')).toEqual({ type: 'odd', version: '' })
		expect(fromFile('notes.txt')).toBe(null)
	})
	it('are written as YAML that reads back', async () => {
		const { parse } = await import('yaml')
		const v = {
			a: 'x',
			b: 'no: colon',
			c: 'line\ntwo\n',
			list: ['p q', '- r', '1e3'],
			map: { k: '#v', 月: '中文' },
			empty: [] as string[],
			yes: 'Yes',
			at: '$[yyyy-MM-dd]',
		}
		expect(parse('params:' + yaml(v, '  '))).toEqual({ params: { ...v, c: 'line\ntwo\n' } })
	})
})
