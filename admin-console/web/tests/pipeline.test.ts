/* A pipeline being edited: steps, ends, wires, faults, diff and merge. Random walks go back and forth to the same texts. */
import { describe, expect, it } from 'vitest'
import { EditorDoc, empty } from '@/editor/doc'
import { diff, merged, threeWay } from '@/editor/diff'
import { faultAt, restOf, taskOfPath } from '@/editor/faults'
import { follow, reorder, rowOf, unfollow } from '@/editor/flow'
import { copied, paste } from '@/editor/piece'
import { scene } from '@/editor/picture'

const source = `# names of the edge
pipeline: dns # every ten seconds
cron: "*/10 * * * * * *"
nodes: [edge-1, edge-2]
steps:
  # asks
  - {name: resolve, type: shell, params: {script: "dig"}} # quick
  - name: publish
    type: shell
    dependence: weak # goes on
  # says so
  - name: notify
    type: http
finished: {type: shell, params: {script: logger done}} # good
failed: {type: http} # bad
`
const comments = ['# names', '# every', '# asks', '# quick', '# goes on', '# says so', '# good', '# bad']
let seed = 1
const random = (n: number) => {
	seed = (seed * 16807) % 2147483647
	return seed % n
}
const order = (d: EditorDoc) =>
	rowOf(d)
		.map(t => t.name)
		.join(' ')
const act = (d: EditorDoc, change: ReturnType<typeof follow> | ReturnType<typeof unfollow>) => {
	if (typeof change === 'string') return change
	d.apply('x', change)
	return ''
}

describe('a pipeline being edited', () => {
	it('is steps in a row and two ends, with what decides whether they run', () => {
		const d = new EditorDoc(source)
		expect(d.text).toBe(source)
		expect(d.tasks.map(t => [t.name, t.needs])).toEqual([
			['resolve', []],
			['publish', [{ task: 'resolve' }]],
			['notify', [{ task: 'publish', on: 'done' }]],
			['finished', [{ task: 'notify' }]],
			[
				'failed',
				[
					{ task: 'resolve', on: 'failure' },
					{ task: 'notify', on: 'failure' },
				],
			],
		])
		expect(d.task('publish')!.json).toEqual({ type: 'shell', dependence: 'weak' })
		expect(d.headKeys).toEqual(['pipeline', 'cron', 'nodes'])
	})
	it('keeps comments and looks when a step is moved, renamed, added, made weak', () => {
		const d = new EditorDoc(source)
		d.apply('x', x => x.moveStep('notify', ''))
		d.apply('x', x => x.renameTask('resolve', 'ask'))
		d.apply('x', x => x.addTask('check', { type: 'noop' }, 'ask'))
		d.apply('x', x => x.setTask('ask', ['dependence'], 'weak'))
		d.apply('x', x => x.setTask('failed', ['params', 'url'], 'http://x'))
		for (const c of comments) expect(d.text).toContain(c)
		expect(order(d)).toBe('notify ask check publish')
		const again = new EditorDoc(d.text)
		expect(again.tasks).toEqual(d.tasks)
		expect(again.task('failed')!.json.params).toEqual({ url: 'http://x' })
	})
	it('takes wires for what they mean', () => {
		const d = new EditorDoc(source)
		expect(act(d, follow(d, 'resolve', 'notify'))).toBe('')
		expect(order(d)).toBe('resolve notify publish')
		expect(act(d, follow(d, 'resolve', 'notify'))).toBe('there')
		expect(act(d, follow(d, 'failed', 'notify'))).toBe('last')
		expect(act(d, follow(d, 'publish', 'failed'))).toBe('')
		expect(d.task('publish')!.json.dependence).toBeUndefined()
		expect(act(d, unfollow(d, 'failed', 0))).toBe('')
		expect(d.task('resolve')!.json.dependence).toBe('weak')
		expect(act(d, unfollow(d, 'notify', 0))).toBe('row')
		expect(act(d, follow(d, 'resolve', 'finished'))).toBe('')
		expect(order(d)).toBe('notify publish resolve')
		expect(reorder(d, new Set(['notify']), '')).toBeNull()
		d.apply('x', reorder(d, new Set(['publish', 'resolve']), '')!)
		expect(order(d)).toBe('publish resolve notify')
		expect(act(d, unfollow(d, 'finished', 0))).toBe('')
		expect(d.task('finished')).toBeUndefined()
	})
	it('walks back and forth to the same texts, whatever was done', () => {
		for (let run = 0; run < 15; run++) {
			seed = 5 + run
			const d = new EditorDoc(source),
				texts = [d.text]
			for (let i = 0; i < 25; i++) {
				const names = rowOf(d).map(t => t.name),
					any = () => names[random(names.length)] ?? 'none'
				const acts = [
					() => d.apply('a', x => x.addTask('t' + i, { type: 'noop' }, any())),
					() => d.apply('a', x => x.addTask(['finished', 'failed'][random(2)]!, { type: 'http' })),
					() => d.apply('m', x => x.moveStep(any(), random(3) ? any() : '')),
					() => d.apply('r', x => x.removeTasks(new Set([[any(), 'failed', 'finished'][random(3)]!]))),
					() => d.apply('n', x => x.renameTask(any(), 'n' + i)),
					() => d.apply('s', x => x.setTask(any(), ['params', 'script'], 'a\nb' + i)),
					() => d.apply('w', x => x.setTask(any(), ['dependence'], random(2) ? 'weak' : undefined)),
					() => d.apply('h', x => x.setTask('', ['cron'], `0 ${i} * * * ?`)),
				]
				acts[random(names.length ? acts.length : 1)]!()
				const said = new EditorDoc(d.text)
				expect(said.broken, d.text).toBe(false)
				expect(said.tasks, d.text).toEqual(d.tasks)
				texts.push(d.text)
			}
			for (let i = texts.length - 2; i >= 0; i--) {
				d.undo()
				expect(d.text).toBe(texts[i])
			}
			expect(d.text).toBe(source)
			for (let i = 1; i < texts.length; i++) {
				d.redo()
				expect(d.text).toBe(texts[i])
			}
		}
	})
	it('points at a step whatever it is called, and puts what the server says to it', () => {
		const d = new EditorDoc(
			'pipeline: p\nsteps:\n  - {type: a}\n  - {name: x, type: b}\n  - {name: x, type: c}\nfailed: {type: d}\n',
		)
		expect(d.tasks.map(t => t.name)).toEqual(['#1', 'x', 'x#3', 'failed'])
		expect(taskOfPath(d, 'steps[2].params.sql')).toBe('x#3')
		expect(restOf(d, 'x#3', 'steps[2].params.sql')).toBe('params.sql')
		expect([taskOfPath(d, 'failed.type'), taskOfPath(d, 'cron'), taskOfPath(d, 'steps[9]')]).toEqual([
			'failed',
			null,
			null,
		])
		const faults = [{ line: 1, column: 1, message: 'no', path: 'steps[1].timeout' }]
		expect([faultAt(faults, d, 'x', 'timeout'), faultAt(faults, d, '#1', 'timeout')]).toEqual(['no', undefined])
		d.apply('x', x => x.renameTask('x#3', 'y'))
		expect(new EditorDoc(d.text).tasks.map(t => t.name)).toEqual(['#1', 'x', 'y', 'failed'])
	})
	it('is drawn with its conditions and with the ends it could have', () => {
		const marks = {
			faults: new Map(),
			diff: null,
			was: null,
			found: new Set<string>(),
			note: () => '',
			on: (x: string) => x,
			outside: '',
			hooks: 'an end',
		}
		const d = new EditorDoc(source)
		const drawn = scene(d, new Map(), marks)
		expect(drawn.wires.map(w => `${drawn.cards[w.from]!.id}>${drawn.cards[w.to]!.id} ${w.label}`)).toEqual([
			'resolve>publish ',
			'publish>notify done',
			'notify>finished ',
			'resolve>failed failure',
			'notify>failed failure',
		])
		d.apply('x', x => x.removeTasks(new Set(['failed'])))
		expect(scene(d, new Map(), marks).cards.map(k => [k.id, k.look])).toContainEqual(['failed', 'ghost'])
		expect(scene(d, new Map(), { ...marks, hooks: '' }).cards).toHaveLength(4)
	})
	it('tells what was moved, and merges what two people did', () => {
		const base = new EditorDoc(source),
			mine = new EditorDoc(source),
			theirs = new EditorDoc(source)
		mine.apply('x', x => {
			x.addTask('check', { type: 'noop' }, 'resolve')
			x.setTask('notify', ['timeout'], '30s')
		})
		theirs.apply('x', x => {
			x.setTask('publish', ['retries'], '2')
			x.setHead(['nodes'], ['edge-3'])
			x.removeTasks(new Set(['failed']))
		})
		expect(diff(base, mine).tasks.map(t => [t.name, t.change, t.keys.map(k => k.key).join()])).toEqual([
			['check', 'added', 'type,after'],
			['publish', 'changed', 'after'],
			['notify', 'changed', 'timeout'],
		])
		const parts = threeWay(base, mine, theirs)
		expect(parts.filter(p => p.by === 'conflict')).toEqual([])
		const done = new EditorDoc(merged(theirs, parts, p => (p.by === 'mine' ? 'mine' : 'theirs')))
		expect(order(done)).toBe('resolve check publish notify')
		expect([done.task('publish')!.json.retries, done.task('notify')!.json.timeout, done.task('failed')]).toEqual([
			'2',
			'30s',
			undefined,
		])
		mine.apply('x', x => x.moveStep('notify', ''))
		theirs.apply('x', x => x.moveStep('notify', 'resolve'))
		expect(threeWay(base, mine, theirs).some(p => p.by === 'conflict' && p.id === 'notify/after')).toBe(true)
	})
	it('begins as an empty one of the other kind, and takes tasks from a workflow', () => {
		const d = new EditorDoc(empty('p', 'o'))
		d.apply('kind', x => x.become('pipeline'))
		expect(d.text).toBe('pipeline: o\nproject: p\ncycle: day\nsteps: []\n')
		const flow = new EditorDoc(
			'workflow: w\ntasks:\n  a: {type: shell, cycle: hour, params: {script: x}}\n  b: {type: sql, needs: [a]}\n',
		)
		expect(paste(d, copied(flow, new Set(['a', 'b'])))).toEqual(['a', 'b'])
		expect(d.tasks.map(t => t.json)).toEqual([{ type: 'shell', params: { script: 'x' } }, { type: 'sql' }])
		expect(paste(d, copied(d, new Set(['b'])))).toEqual(['b_2'])
		d.apply('kind', x => x.become('workflow'))
		expect(d.isPipeline).toBe(true)
		d.undo()
		for (let i = 0; i < 3; i++) d.undo()
		expect(d.text).toBe(empty('p', 'o'))
	})
})
