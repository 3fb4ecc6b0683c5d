/* The document being edited: its text, its comments, undo, copies, diff and merge, changes of many tasks, and the picture of
 * a large one. The walks take a seed, so a failure comes again. */
import { describe, expect, it } from 'vitest'
import { EditorDoc, empty } from '@/editor/doc'
import { closes, effective } from '@/editor/links'
import { copied, paste } from '@/editor/piece'
import { diff, merged, threeWay } from '@/editor/diff'
import { editSize } from '@/graph/board'
import { layOut } from '@/graph/layout'
import { scene } from '@/editor/picture'
import { changeMany, common, fields, touched, valueOf } from '@/editor/many'

const source = `# the shop
workflow: shop # daily
project: retail
defaults: {cycle: day, owner: li}

tasks:
  # where it comes from
  extract:
    type: shell
    cycle: hour
    params:
      script: |
        echo one
        echo "$[yyyyMMdd]"
  load: {type: sql, needs: [extract], params: {sql: "select 1"}} # quick
  report:
    type: shell
    needs:
      - load # after it
      - {task: report, depend: -1}
      - crm/daily/customers
`
let seed = 1
const random = (n: number) => {
	seed = (seed * 16807) % 2147483647
	return seed % n
}

describe('a workflow being edited', () => {
	it('is its text until it is changed, and keeps comments when it is', () => {
		const d = new EditorDoc(source)
		expect(d.text).toBe(source)
		d.apply('x', x => x.setTask('load', ['params', 'sql'], 'select 2\nfrom t'))
		d.apply('x', x => x.setTask('report', ['priority'], '9'))
		d.apply('x', x => x.addNeed('report', { task: 'extract', window: '[@day-1d, @day)' }))
		for (const c of ['# the shop', '# daily', '# where it comes from', '# quick', '# after it', 'echo "$[yyyyMMdd]"'])
			expect(d.text).toContain(c)
		const again = new EditorDoc(d.text)
		expect(again.broken).toBe(false)
		expect(again.tasks.map(t => t.json)).toEqual(d.tasks.map(t => t.json))
		expect(again.task('load')!.json.params).toEqual({ sql: 'select 2\nfrom t' })
		expect(again.task('report')!.needs[3]).toEqual({ task: 'extract', window: '[@day-1d, @day)' })
	})
	it('reads what a text says as text: zeros, dates and words stay as written', () => {
		const d = new EditorDoc(
			'workflow: w\nstart_date: 2026-01-01\nparameters: {a: 007, b: yes, c: 1e3, d: "08:00"}\ntasks: {}\n',
		)
		expect(d.head('parameters')).toEqual({ a: '007', b: 'yes', c: '1e3', d: '08:00' })
		d.apply('x', x => x.setHead(['parameters', 'e'], '0123'))
		expect(new EditorDoc(d.text).head('parameters')).toEqual({ a: '007', b: 'yes', c: '1e3', d: '08:00', e: '0123' })
	})
	it('renames with every link, removes with every link', () => {
		const d = new EditorDoc(source)
		d.apply('x', x => x.renameTask('load', 'load_orders'))
		expect(d.task('report')!.needs[0]).toEqual({ task: 'load_orders' })
		expect(d.text).toContain('# after it')
		d.apply('x', x => x.removeTasks(new Set(['load_orders'])))
		expect(d.task('report')!.needs.map(n => n.task)).toEqual(['report', 'crm/daily/customers'])
	})
	it('knows circles of one date and lets earlier dates be', () => {
		const d = new EditorDoc(source)
		expect(closes(d, 'report', 'extract')).toBe(true)
		expect(closes(d, 'extract', 'report')).toBe(false)
		expect(effective(d, d.task('load'), 'cycle')).toBe('day')
		expect(effective(d, d.task('extract'), 'cycle')).toBe('hour')
	})
	it('keeps what was last readable while the text is not', () => {
		const d = new EditorDoc(source)
		d.setText(source + '  bad: [')
		expect(d.broken).toBe(true)
		expect(d.faults()[0]!.line).toBeGreaterThan(1)
		expect(d.tasks).toHaveLength(3)
		d.undo()
		expect(d.text).toBe(source)
	})
	it('walks back and forth to the same texts, whatever was done', () => {
		for (let run = 0; run < 15; run++) {
			seed = 11 + run
			const d = new EditorDoc(source),
				texts = [d.text]
			for (let i = 0; i < 25; i++) {
				const names = d.tasks.map(t => t.name),
					any = () => names[random(names.length)] ?? 'none'
				const acts = [
					() => d.apply('a', x => x.addTask('t' + i, { type: 'noop' }, any())),
					() => {
						const a = any(),
							b = any()
						if (!closes(d, b, a) && a !== b) d.apply('l', x => x.addNeed(a, { task: b }))
						else d.apply('p', x => x.place(a, { x: i, y: i }))
					},
					() => d.apply('r', x => x.removeTasks(new Set([any()]))),
					() => d.apply('n', x => x.renameTask(any(), 'n' + i)),
					() => d.apply('s', x => x.setTask(any(), ['params', 'script'], 'a\nb' + i)),
					() => d.apply('h', x => x.setHead(['owner'], 'o' + i)),
					() => {
						d.setText(d.text + `  y${i}: {type: noop}\n`)
					},
				]
				acts[random(names.length ? acts.length : 1)]!()
				expect(d.broken, d.text).toBe(false)
				texts.push(d.text)
			}
			for (let i = texts.length - 2; i >= 0; i--) {
				d.undo()
				expect(d.text).toBe(texts[i])
			}
			for (let i = 1; i < texts.length; i++) {
				d.redo()
				expect(d.text).toBe(texts[i])
			}
		}
	})
	it('goes to another workflow by the clipboard, with new names where they are taken', () => {
		const d = new EditorDoc(source),
			other = new EditorDoc(empty('p', 'o'))
		const piece = copied(d, new Set(['load', 'report']))
		expect(paste(other, piece)).toEqual(['load', 'report'])
		expect(paste(other, piece)).toEqual(['load_2', 'report_2'])
		expect(other.task('report_2')!.needs.map(n => n.task)).toEqual(['load_2', 'report_2', 'crm/daily/customers'])
		expect(paste(other, 'no workflow at all')).toEqual([])
	})
	it('tells what changed, and merges what two people did', () => {
		const base = new EditorDoc(source),
			mine = new EditorDoc(source),
			theirs = new EditorDoc(source)
		mine.apply('x', x => {
			x.setTask('load', ['priority'], '3')
			x.addTask('mail', { type: 'http' })
			x.setTask('extract', ['owner'], 'me')
		})
		theirs.apply('x', x => {
			x.setTask('report', ['priority'], '7')
			x.setTask('extract', ['owner'], 'they')
			x.setHead(['owner'], 'wang')
		})
		expect(diff(base, mine).tasks.map(t => [t.name, t.change])).toEqual([
			['extract', 'changed'],
			['load', 'changed'],
			['mail', 'added'],
		])
		const parts = threeWay(base, mine, theirs)
		expect(parts.filter(p => p.by === 'conflict').map(p => p.id)).toEqual(['extract/owner'])
		const done = new EditorDoc(merged(theirs, parts, () => 'mine'))
		expect([
			done.task('load')!.json.priority,
			done.task('report')!.json.priority,
			done.task('extract')!.json.owner,
			done.head('owner'),
			done.task('mail')!.json.type,
		]).toEqual(['3', '7', 'me', 'wang', 'http'])
		expect(new EditorDoc(merged(theirs, parts, () => 'theirs')).task('extract')!.json.owner).toBe('they')
	})
})

describe('a large drawing that nobody placed', () => {
	const marks = {
		faults: new Map(),
		diff: null,
		was: null,
		found: new Set<string>(),
		note: () => '',
		on: (x: string) => x,
		outside: '',
		hooks: '',
	}
	const big = (n: number) =>
		new EditorDoc(
			`workflow: big\ntasks:\n${Array.from({ length: n }, (_, i) => `  t${i}: {type: noop${i ? `, needs: [t${i >> 1}]` : ''}}\n`).join('')}`,
		)
	it('waits for its layout, takes the one of its shape and no other', () => {
		const d = big(400),
			first = scene(d, new Map(), marks)
		expect(first.waits!.model.nodes).toHaveLength(400)
		const laid = { shape: first.waits!.shape, layout: layOut(first.waits!.model, editSize) }
		expect(scene(d, new Map(), marks, laid)).toMatchObject({ waits: null, xs: laid.layout.x, ys: laid.layout.y })
		d.apply('x', x => x.setTask('t7', ['priority'], '1'))
		expect(scene(d, new Map(), marks, laid).waits).toBeNull()
		d.apply('x', x => x.addNeed('t9', { task: 't1' }))
		expect(scene(d, new Map(), marks, laid).waits).not.toBeNull()
		expect(scene(d, new Map([['t0', { x: 0, y: 0 }]]), marks).waits).toBeNull()
		expect(scene(big(300), new Map(), marks).waits).toBeNull()
	})
})

describe('one change over several tasks', () => {
	const field = (key: string) => fields.find(f => f.key === key)!
	const change = (d: EditorDoc, names: string[], key: string, text: string) => {
		const f = field(key),
			v = valueOf(f, text),
			list = touched(d, new Set(names), f, v)
		if (list.length) d.apply('set', x => changeMany(x, list, f, v))
		return list
	}
	it('is one step back, keeps comments and leaves the others alone', () => {
		const d = new EditorDoc(source)
		expect(change(d, ['load', 'report', 'gone'], 'attempts', '4')).toEqual(['load', 'report'])
		expect(d.tasks.map(t => t.json.retry)).toEqual([undefined, { attempts: '4' }, { attempts: '4' }])
		for (const c of ['# the shop', '# where it comes from', '# quick', '# after it']) expect(d.text).toContain(c)
		expect(new EditorDoc(d.text).tasks.map(t => t.json)).toEqual(d.tasks.map(t => t.json))
		d.undo()
		expect(d.text).toBe(source)
		expect(d.canUndo).toBe('')
	})
	it('does nothing where it says so already, and nothing written takes the key away', () => {
		const d = new EditorDoc(source)
		change(d, ['load', 'report'], 'priority', '7')
		expect(change(d, ['load', 'report'], 'priority', '7')).toEqual([])
		expect(change(d, ['extract', 'load', 'report'], 'priority', '')).toEqual(['load', 'report'])
		expect(d.tasks.some(t => 'priority' in t.json)).toBe(false)
	})
	it('takes cron away with a cycle, and the cycle with a cron', () => {
		const d = new EditorDoc(source)
		change(d, ['extract', 'load'], 'cron', '0 5 * * * ?')
		expect(d.task('extract')!.json).toMatchObject({ cron: '0 5 * * * ?' })
		expect(d.task('extract')!.json.cycle).toBeUndefined()
		change(d, ['extract', 'load'], 'cycle', 'week')
		expect(d.tasks.map(t => [t.json.cycle, t.json.cron])).toEqual([
			['week', undefined],
			['week', undefined],
			[undefined, undefined],
		])
	})
	it('reads pools by name and number, and tells what all have in common', () => {
		const d = new EditorDoc(source),
			both = new Set(['load', 'report'])
		change(d, ['load', 'report'], 'pools', 'dw_slots: 2, gpu')
		expect(d.task('load')!.json.pools).toEqual({ dw_slots: '2', gpu: '1' })
		expect(common(d, both, field('pools'))).toEqual({ value: { dw_slots: '2', gpu: '1' } })
		change(d, ['load'], 'pools', 'dw_slots: 1')
		expect(common(d, both, field('pools'))).toBeUndefined()
		expect(common(d, both, field('late'))).toEqual({ value: undefined })
	})
})
