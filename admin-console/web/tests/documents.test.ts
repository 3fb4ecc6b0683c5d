import { describe, expect, it } from 'vitest'
import { allowed, calendar, dayOf, toggle, year } from '@/domain/calendar'
import { emptyParams, paramsOf, withParam } from '@/domain/params'

const cn = `calendar: cn
weekends: [saturday, sunday] # the usual
holidays:
- 2026-01-01..2026-01-03
- {name: National Day, on: 2026-10-01..2026-10-07}
- 2026-05-01
workdays: [2026-01-04, 2026-10-10]
`
describe('a calendar', () => {
	it('says of each day why it is worked or not', () => {
		const c = calendar(cn)!
		expect(
			['2026-01-02', '2026-01-04', '2026-01-05', '2026-01-10', '2026-10-03', '2026-10-10'].map(d => dayOf(c, d)),
		).toEqual(['holiday', 'extra', 'work', 'off', 'holiday', 'extra'])
		expect(c.holidays.get('2026-10-05')).toBe('National Day')
		const y = year(c, 2026)
		expect(y.map(m => m.days.length)).toEqual([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
		expect(y[0]!.before).toBe(3) // a Thursday
		expect(y.flatMap(m => m.days).filter(d => allowed(d.day)).length).toBe(261 - 2 - 5 - 1 + 2)
	})
	it('reads working days, dates without a year, maps of years and lists of dates', () => {
		const c = calendar('calendar: x\nworking: [monday]\nyears: 2026..2027\nholidays: [12-28]\n')!
		expect(dayOf(c, '2026-12-28')).toBe('holiday')
		expect(dayOf(c, '2027-12-27')).toBe('work')
		expect(dayOf(calendar('calendar: y\nholidays:\n  2026: [05-01]\n')!, '2026-05-01')).toBe('holiday')
		const only = calendar('calendar: z\ndates: [2026-03-01..2026-03-02]\n')!
		expect(['2026-03-01', '2026-03-03'].map(d => dayOf(only, d))).toEqual(['extra', 'off'])
		expect(calendar('a: [')).toBe(null)
	})
	it('is edited day by day, and comments stay', () => {
		for (const [day, before, after] of [
			['2026-01-05', 'work', 'holiday'],
			['2026-05-01', 'holiday', 'work'],
			['2026-01-10', 'off', 'extra'],
			['2026-01-04', 'extra', 'off'],
			['2026-10-05', 'holiday', 'extra'],
		] as const) {
			const next = toggle(cn, day)
			expect([day, dayOf(calendar(cn)!, day), dayOf(calendar(next)!, day)]).toEqual([day, before, after])
			expect(next).toContain('# the usual')
		}
		expect(dayOf(calendar(toggle('calendar: n\n', '2026-03-02'))!, '2026-03-02')).toBe('holiday')
	})
})

describe('parameters', () => {
	it('are set and taken away one by one; the rest of the document stays', () => {
		const text = 'project: retail\nquota:\n  running: 40 # ask first\nparameters: {db: dw, keep: 30}\n'
		expect(paramsOf(text)).toEqual([
			{ name: 'db', value: 'dw' },
			{ name: 'keep', value: '30' },
		])
		const more = withParam(withParam(text, 'db', 'dw2'), 'keep', undefined)
		expect(paramsOf(more)).toEqual([{ name: 'db', value: 'dw2' }])
		expect(more).toContain('running: 40 # ask first')
		expect(paramsOf(withParam(emptyParams(''), 'a', 'x: y'))).toEqual([{ name: 'a', value: 'x: y' }])
		expect(paramsOf(withParam('project: p\n', 'a', '1'))).toEqual([{ name: 'a', value: '1' }])
	})
})
