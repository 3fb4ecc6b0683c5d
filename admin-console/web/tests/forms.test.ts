/* What forms send and what they say when the server refuses: the shared `useSend`, and the forms of backfills, silences,
 * target servers and rights. */
import { describe, expect, it, vi } from 'vitest'
import { ApiError, type Preview } from '@/api/client'
import { silenced, silenceForm, silenceOf, toldKind, unsaid, type Silence } from '@/alerts/state'
import { byRecent, figures, presets } from '@/backfill/state'
import { rights, rightsOf, words } from '@/ops/rights'
import { formOf, pairs, sent, testable, testProject } from '@/ops/targets'
import { attempt, said, useSend } from '@/ui/send'
import { toasts } from '@/ui/toast'

describe('what is sent', () => {
	it('is refused in the words of the server, each once, the remedy last', () => {
		const errors = ['no such task', 'a circle'].map(message => ({ message }))
		expect(said(new ApiError(400, 'BAD', 'a circle', 'cut it', '', '', false, { errors } as never))).toBe(
			'a circle · no such task · cut it',
		)
		expect(said(new Error('away'))).toBe('away')
		expect(said('odd')).toBe('odd')
	})
	it('goes one at a time, and says when it is done', async () => {
		const s = useSend(),
			then = vi.fn()
		let end = (_: string) => {}
		const first = s.go(() => new Promise<string>(go => (end = go)), then)
		expect(s.busy).toBe(true)
		expect(await s.go(async () => 'second', then)).toBe(false)
		end('first')
		expect(await first).toBe(true)
		expect(then.mock.calls).toEqual([['first']])
		expect(s.busy).toBe(false)
	})
	it('holds what was refused until the next try, also of a command that failed at once', async () => {
		const s = useSend()
		expect(await s.go(async () => ({ command: '7', state: 'failed', error: 'the pool is in use' }))).toBe(false)
		expect(s.error).toBe('the pool is in use')
		expect(await s.go(async () => ({ command: '8', state: 'queued' }))).toBe(true)
		expect(s.error).toBe('')
	})
	it('says a refusal in a toast where nothing else can', async () => {
		expect(await attempt(async () => Promise.reject(new ApiError(403, 'FORBIDDEN', 'not you')))).toBe(false)
		expect(toasts.at(-1)).toMatchObject({ text: 'not you', bad: true })
	})
})

describe('the form of a backfill', () => {
	it('offers spans of whole days of the zone', () => {
		const at = Date.parse('2026-03-01T23:30:00Z')
		expect(presets(at, 'UTC').map(x => [x.key, x.from, x.to])).toEqual([
			['yesterday', '2026-02-28', '2026-02-28'],
			['last7', '2026-02-22', '2026-02-28'],
			['last30', '2026-01-30', '2026-02-28'],
			['month', '2026-03-01', '2026-03-01'],
			['previous', '2026-02-01', '2026-02-28'],
		])
		expect(presets(at, 'Asia/Shanghai')[0]!.from).toBe('2026-03-01')
	})
	it('counts days by the calendar where a day has 25 hours', () => {
		/* 2026-10-25 of Berlin: at 23:30 that evening 24 hours back is still 22:30 of the same... or the day before. */
		expect(presets(Date.parse('2026-10-25T22:30:00Z'), 'Europe/Berlin')[0]!.from).toBe('2026-10-24')
		expect(presets(Date.parse('2026-10-25T23:30:00Z'), 'Europe/Berlin')[0]!.from).toBe('2026-10-25')
	})
	it('names what was used lately first', () => {
		expect(byRecent(['c', 'a', 'b', 'd'], ['d', 'x', 'b'])).toEqual(['d', 'b', 'a', 'c'])
	})
	it('sums the plan', () => {
		const day = (count: number, refusals: number, unchanged: number) => ({
			day: '',
			count,
			refusals,
			unchanged,
			new: 0,
		})
		const plan = {
			total: 9,
			days: [day(4, 0, 0), day(0, 3, 5)],
			tasks: [{ count: 5, new: 2 }, { count: 4 }],
			downstream: [{ count: 3 }, { count: 4 }],
		} as unknown as Preview
		expect(figures(plan)).toEqual({ total: 9, days: 1, fresh: 2, down: 7, most: 5, tallest: 8 })
		expect(figures(null)).toMatchObject({ total: 0, most: 1, tallest: 1 })
	})
})

describe('alerts', () => {
	it('are silenced by as much of a path as is said', () => {
		const of = (path: string) => silenceOf({ ...silenceForm(), of: path, reason: 'works' }, 0)
		expect(of(' /retail/ ')).toEqual({ project: 'retail', until: '1970-01-01T02:00:00Z', reason: 'works' })
		expect(of('retail/daily')).toMatchObject({ workflow: 'retail/daily' })
		expect(of('retail/daily/orders')).toMatchObject({ task: 'retail/daily/orders' })
		expect(silenceOf({ ...silenceForm({ kind: 'late' }), hours: '0.5' }, 0)).toEqual({
			kind: 'late',
			until: '1970-01-01T00:30:00Z',
			reason: '',
		})
		expect(silenced({ workflow: 'retail/daily' } as Silence)).toBe('retail/daily')
		expect(silenced({} as Silence)).toBe('*')
	})
	it('say whether a message came', () => {
		expect(toldKind({ state: 'sent', error: '' } as never)).toBe('succ')
		expect(toldKind({ state: 'given_up', error: 'no route' } as never)).toBe('failed')
		expect(toldKind({ state: 'waiting', error: 'no route' } as never)).toBe('retry')
		expect(toldKind({ state: 'waiting', error: '' } as never)).toBe('ready')
		expect(
			unsaid([
				{ state: 'sent', error: 'once' },
				{ state: 'waiting', error: 'no route' },
			] as never),
		).toBe(1)
	})
})

describe('forms of operators', () => {
	it('hold a target server, and send its password only when one was typed or it is dropped', () => {
		const form = formOf({
			server: 'dw',
			kind: 'hive',
			port: 10000,
			extra: { schema: 'raw' },
			projects: ['a', 'b'],
		} as never)
		expect(form).toMatchObject({ port: '10000', extra: 'schema=raw', projects: 'a, b', password: '' })
		expect(sent(form)).not.toHaveProperty('password')
		expect(sent({ ...form, drop: true })).toHaveProperty('password', '')
		expect(sent({ ...form, drop: true, password: 'x' })).toHaveProperty('password', 'x')
		expect(sent({ ...form, projects: ' a,b\nc ' }).projects).toEqual(['a', 'b', 'c'])
	})
	it('say where a password is kept outside, and go back to one that is sealed', () => {
		const form = formOf({
			server: 'dw',
			password_from: { from: 'vault', path: 'kv/data/dw', key: 'p' },
			secrets: [],
		} as never)
		expect(form).toMatchObject({ from: 'vault', path: 'kv/data/dw', key: 'p' })
		expect(sent(form).password).toEqual({ from: 'vault', path: 'kv/data/dw', key: 'p' })
		expect(sent({ ...form, from: 'file', path: ' dw/word ', key: '' }).password).toEqual({
			from: 'file',
			path: 'dw/word',
		})
		expect(sent({ ...form, from: '', password: 'new' }).password).toBe('new')
		expect(sent({ ...form, from: '' })).not.toHaveProperty('password')
	})
	it('test the kinds that a runner can dial, as a job of a project that may use the target', () => {
		const of = (kind: string, ...projects: string[]) => ({ kind, projects }) as never
		expect([testable(of('mysql')), testable(of('http')), testable(of('hive'))]).toEqual([true, true, false])
		expect([testProject(of('mysql')), testProject(of('mysql', 'a')), testProject(of('mysql', 'a', '*'))]).toEqual([
			undefined,
			undefined,
			undefined,
		])
		expect(testProject(of('mysql', 'a', 'b'))).toBe('a')
	})
	it('read lines of NAME=VALUE', () => {
		expect(pairs('a = 1\n\nflag\nurl=x=y')).toEqual({ a: '1', flag: '', url: 'x=y' })
	})
	it('take rights as they are and give them back', () => {
		expect(rights(rightsOf(['force-success']))).toEqual(['force-success'])
		expect(rights({ backfill: true, force: true, unsafe: true })).toEqual(['backfill', 'force-success', 'unsafe'])
		expect(words(' a, b\nc')).toEqual(['a', 'b', 'c'])
	})
})
