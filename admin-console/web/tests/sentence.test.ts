import { describe, expect, it } from 'vitest'
import { meant, selectionOf, sentenceOf, type Named } from '@/domain/sentence'

const all: Named[] = [
	{ name: 'retail/shop_daily', kind: 'workflow' },
	{ name: 'retail/shop_daily/rollup', kind: 'task' },
	{ name: 'retail/shop_daily/rollup_week', kind: 'task' },
	{ name: 'other/shop/rollup', kind: 'task' },
]

describe('a sentence', () => {
	it('is a verb, a name and a date as it was written', () => {
		expect(sentenceOf('redo rollup yesterday')).toEqual({ verb: 'redo', name: 'rollup', date: 'yesterday' })
		expect(sentenceOf(' Run shop_daily  2026-11-03 ')).toEqual({ verb: 'run', name: 'shop_daily', date: '2026-11-03' })
		expect(sentenceOf('kill rollup')).toEqual({ verb: 'kill', name: 'rollup', date: '' })
		expect(sentenceOf('logs of rollup for last week')).toEqual({ verb: 'logs', name: 'rollup', date: 'last week' })
		expect(sentenceOf('force success rollup 2026-11-01..2026-11-03')).toEqual({
			verb: 'force-success',
			name: 'rollup',
			date: '2026-11-01..2026-11-03',
		})
		expect(sentenceOf('unfreeze rollup 2026-11-01 14:00')).toMatchObject({ verb: 'unfreeze', date: '2026-11-01 14:00' })
	})
	it('has Chinese words, and wants no blank after them', () => {
		expect(sentenceOf('重跑 rollup 昨天')).toEqual({ verb: 'redo', name: 'rollup', date: '昨天' })
		expect(sentenceOf('重跑rollup 的 昨天')).toEqual({ verb: 'redo', name: 'rollup', date: '昨天' })
		expect(sentenceOf('为什么 rollup 2026-11-03')).toMatchObject({ verb: 'why' })
		expect(sentenceOf('日志 rollup')).toMatchObject({ verb: 'logs', date: '' })
	})
	it('is not what is looked for', () => {
		expect(sentenceOf('runner_daily')).toBeUndefined()
		expect(sentenceOf('redo')).toBeUndefined()
		expect(sentenceOf('rollup')).toBeUndefined()
	})
})

describe('whom it means', () => {
	it('is first who is called just so, wherever', () => {
		expect(meant(sentenceOf('redo rollup')!, all).map(n => n.name)).toEqual([
			'retail/shop_daily/rollup',
			'other/shop/rollup',
			'retail/shop_daily/rollup_week',
		])
		expect(meant(sentenceOf('run shop_daily')!, all)[0]).toMatchObject({ kind: 'workflow' })
		expect(meant(sentenceOf('redo nobody')!, all)).toEqual([])
	})
	it('is a task where only a task can be meant', () => {
		expect(meant(sentenceOf('why shop_daily')!, all).every(n => n.kind === 'task')).toBe(true)
	})
})

describe('what a command takes', () => {
	const rollup = all[1]!
	it('is the date as written; without one what failed, what runs, or the task itself', () => {
		expect(selectionOf(sentenceOf('redo rollup yesterday')!, rollup)).toEqual({
			tasks: [rollup.name],
			dates: ['yesterday'],
		})
		expect(selectionOf(sentenceOf('redo rollup')!, rollup)).toEqual({
			tasks: [rollup.name],
			states: ['StopSchedule', 'Killed'],
		})
		expect(selectionOf(sentenceOf('kill shop_daily')!, all[0]!)).toEqual({
			workflow: 'retail/shop_daily',
			states: ['Running'],
		})
		expect(selectionOf(sentenceOf('freeze rollup')!, rollup)).toEqual({ tasks: [rollup.name] })
	})
})
