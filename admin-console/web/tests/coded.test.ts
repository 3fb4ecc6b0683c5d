/* Every value of the tables that the console shows by a key made of it has words, in both languages. */
import { readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { en } from '@/i18n/en'
import { zh } from '@/i18n/zh'
import { kinds } from '@/domain/states'
import { en as alertsEn, zh as alertsZh } from '@/words/alerts'
import { en as codedEn, zh as codedZh } from '@/words/coded'
import { en as whyEn, zh as whyZh } from '@/words/why'

vi.mock('../src/words/dictionary', () => ({ dictionary: () => () => '' }))

const root = new URL('../../..', import.meta.url).pathname
const file = (path: string) => readFileSync(root + path, 'utf8')
/* The first text of each row: the name that goes over the wire. */
const names = (table: string) =>
	[...file(`schema/tbl/${table}.def`).matchAll(/^[A-Z_]+\([^"\n]*"([^"]+)"/gm)].map(m => m[1]!)
/* The texts of an array in C. */
const listed = (path: string, after: string) => {
	const s = file(path)
	const from = s.indexOf(after),
		at = s.indexOf('{', from)
	return [...s.slice(at, s.indexOf('}', at)).matchAll(/"([^"]+)"/g)].map(m => m[1]!)
}
type Words = Record<string, string>
const lacks = (prefix: string, of: readonly string[], ...words: Words[]) => {
	expect(of.length, prefix).toBeGreaterThan(1)
	return of.map(n => prefix + n).filter(k => !words.every(w => k in w))
}

describe('words for every value of the tables', () => {
	it('of roles, states, gates and commands', () => {
		const roles = ['none', ...listed('cgi/http/role.c', 'names[]').filter(r => r !== 'public')]
		expect(lacks('role.', roles, en, zh)).toEqual([])
		expect(lacks('state.', kinds, en, zh)).toEqual([])
		expect(lacks('cmds.state.', names('command_state'), en, zh)).toEqual([])
		const own = names('command').filter(k => !(`cmd.${k}` in en && `cmd.${k}` in zh))
		expect(lacks('command.', own, codedEn, codedZh)).toEqual([])
	})
	it('of what the audit calls an action besides', () => {
		const saves = listed('lib/store/mysql/my_docs.c', 'actions[]')
		expect(lacks('command.', saves, codedEn, codedZh)).toEqual([])
	})
	it('of events and reasons', () => {
		for (const table of ['event', 'reason']) expect(lacks(`${table}.`, names(table), codedEn, codedZh)).toEqual([])
	})
	it('of why an instance waits', () => {
		expect(lacks('why.', names('why'), whyEn, whyZh)).toEqual([])
	})
	it('of flags, origins, rights and states of a task', () => {
		expect(lacks('flag.', listed('cgi/server/show.c', 'show_flags'), codedEn, codedZh)).toEqual([])
		expect(lacks('task.', listed('cgi/server/show.c', 'task_state_name'), codedEn, codedZh)).toEqual([])
		expect(lacks('right.', listed('cgi/who/grants.c', 'rights[]'), codedEn, codedZh)).toEqual([])
		const runners = listed('baseserver/sort/registrar.c', '*runner__state_name')
		expect(lacks('runner.', runners, codedEn, codedZh)).toEqual([])
		expect(lacks('origin.', listed('lib/sched/instance.c', '*origin_name'), codedEn, codedZh)).toEqual([])
	})
	it('of kinds of alerts', () => {
		expect(lacks('kind.', names('alert'), alertsEn, alertsZh)).toEqual([])
	})
})
