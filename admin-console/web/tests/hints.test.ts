/* What the editor says of a document by the schema: offers at the cursor, marks, helps; and that each key of the tables has its help
 * in Chinese. */
import { readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { helpAt, marksOf, offersAt } from '@/editor/hints/offer'
import { read } from '@/editor/hints/place'
import { chinese, translated } from '@/editor/hints/say'
import { Reader, near, type Schema } from '@/editor/hints/schema'
import { helps } from '@/editor/hints/zh'

/* The words alone: what looks them up knows the browser. */
vi.mock('../src/words/dictionary', () => ({ dictionary: () => () => '' }))
vi.mock('../src/i18n', () => ({ fill: (text: string) => text }))

/* Shaped as lib/sched/schema.c makes it. */
const schema: Schema = {
	$ref: '#/$defs/document',
	$defs: {
		document: {
			type: 'object',
			if: { required: ['calendar'] },
			then: { $ref: '#/$defs/calendar' },
			else: { $ref: '#/$defs/workflow' },
		},
		calendar: {
			type: 'object',
			required: ['calendar'],
			properties: {
				calendar: { description: 'Its name.', $ref: '#/$defs/word' },
				weekends: { type: 'array', items: { enum: ['saturday', 'sunday'] } },
			},
			additionalProperties: false,
		},
		workflow: {
			type: 'object',
			required: ['workflow', 'tasks'],
			properties: {
				workflow: { description: 'The name of the workflow.', $ref: '#/$defs/word' },
				state: { description: 'Whether it runs.', enum: ['online', 'draft'] },
				defaults: { $ref: '#/$defs/task' },
				tasks: {
					type: 'object',
					minProperties: 1,
					propertyNames: { $ref: '#/$defs/word' },
					additionalProperties: { $ref: '#/$defs/task' },
				},
			},
			additionalProperties: false,
		},
		task: {
			type: 'object',
			properties: {
				type: { description: 'The task type.', $ref: '#/$defs/type' },
				cycle: {
					description: 'How long one period is.',
					anyOf: [{ enum: ['day', 'hour'] }, { type: 'string', pattern: '^[0-9]+ (day|hour)$' }],
				},
				priority: { type: 'integer', minimum: 1, maximum: 10 },
				dry_run: { type: 'boolean' },
				title: { type: ['string', 'number'], maxLength: 10 },
				params: { description: 'What it is given.', type: 'object' },
				needs: {
					type: 'array',
					items: { anyOf: [{ type: 'string', pattern: '^[^/]+$' }, { $ref: '#/$defs/need' }] },
				},
				cron: { type: 'string' },
			},
			additionalProperties: false,
			not: { required: ['cycle', 'cron'] },
			allOf: [{ $ref: '#/$defs/typed' }],
		},
		need: {
			type: 'object',
			required: ['task'],
			properties: { task: { type: 'string' }, on: { enum: ['success', 'failure'] } },
			additionalProperties: false,
		},
		word: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_.-]*$' },
		type: {
			anyOf: [
				{ const: 'shell', description: 'A script.' },
				{ const: 'noop', description: 'Nothing.' },
				{ $ref: '#/$defs/word' },
			],
		},
		typed: {
			allOf: [
				{
					if: { required: ['type'], properties: { type: { const: 'shell' } } },
					then: { properties: { params: { $ref: '#/$defs/params-shell' } } },
				},
			],
		},
		'params-shell': {
			type: 'object',
			properties: {
				script: { description: 'What /bin/sh runs.', anyOf: [{ type: 'string' }, { type: 'string', pattern: '\\$' }] },
				tries: { description: 'How often.', default: '3', anyOf: [{ type: 'integer' }] },
			},
		},
	},
}
const reader = new Reader(schema)
/* `|` is the cursor. */
const at = (text: string) => {
	const pos = text.indexOf('|')
	return offersAt(reader, text.replace('|', ''), pos)
}
const labels = (text: string) => at(text).map(o => o.label)

describe('what may stand at the cursor', () => {
	it('is a key that is not there yet, the wanted ones marked', () => {
		expect(labels('workflow: w\n|\n')).toEqual(['state', 'defaults', 'tasks'])
		expect(at('workflow: w\n|').filter(o => o.must)).toMatchObject([{ label: 'tasks', apply: 'tasks:\n  ' }])
		expect(labels('calendar: c\nwee|')).toEqual(['weekends'])
	})
	it('is told by what the document is and the task is', () => {
		expect(labels('workflow: w\ntasks:\n  a:\n    type: shell\n    params:\n      |\n')).toEqual(['script', 'tries'])
		expect(labels('workflow: w\ntasks:\n  a:\n    type: noop\n    params:\n      |\n')).toEqual([])
		expect(labels('workflow: w\ntasks: {a: {type: shell, params: {s|}}}')).toEqual(['script', 'tries'])
	})
	it('is a value: of a choice, of true and false, a default, a task to wait for', () => {
		expect(labels('workflow: w\nstate: |')).toEqual(['online', 'draft'])
		expect(labels('workflow: w\ntasks:\n  a: {dry_run: |}')).toEqual(['true', 'false'])
		expect(labels('workflow: w\ntasks:\n  a:\n    type: s|\n')).toEqual(['shell', 'noop'])
		expect(at('workflow: w\ntasks:\n  a:\n    type: |\n')[0]).toMatchObject({ label: 'shell', help: 'A script.' })
		expect(labels('workflow: w\ntasks:\n  a: {type: shell, params: {tries: |}}')).toEqual(['3'])
		expect(labels('workflow: w\ntasks:\n  a: {}\n  b: {}\n  c:\n    needs: [a, |]\n')).toEqual(['a', 'b'])
		expect(labels('workflow: w\ntasks:\n  a: {}\n  c:\n    needs:\n      - |\n')).toEqual(
			expect.arrayContaining(['a', 'task', 'on']),
		)
		expect(labels('workflow: w\ntasks:\n  a: {}\n  c:\n    needs:\n      - task: |\n')).toEqual(['a'])
	})
	it('is nothing in a script, a comment or a quoted text', () => {
		expect(at('workflow: w\ntasks:\n  a:\n    params:\n      script: |\n'.replace('|', '>\n        ec|ho'))).toEqual([])
		expect(at('# wor|k\nworkflow: w\n')).toEqual([])
		expect(at('workflow: w\nstate: "on|"\n')).toEqual([])
	})
	it('keeps the colon and the rest of a key that is written anew', () => {
		expect(at('workflow: w\nsta|x: online')).toMatchObject([
			{ label: 'state', apply: 'state', from: 12, to: 16 },
			{},
			{},
		])
	})
})

const wrong = (text: string) => marksOf(reader, text).map(m => [m.wrong, text.slice(m.from, m.to)])
describe('what does not fit is marked where it stands', () => {
	it('and nothing else is', () => {
		expect(wrong('workflow: w\ntasks: {a: {type: shell, cycle: 15 day, params: {script: x}, needs: []}}')).toEqual([])
		expect(wrong('workflow: w\nstat: online\ntasks: {a: {cycle: weekly}}')).toEqual([
			['unknown', 'stat'],
			['form', 'weekly'],
		])
		expect(wrong('workflow: w\ntasks: {a: {priority: 11, needs: [{task: b, on: never}]}}')).toEqual([
			['range', '11'],
			['choice', 'never'],
		])
		expect(wrong('workflow: w\n')).toEqual([['missing', '']])
		expect(wrong('workflow: w\ntasks: {a: {cycle: day, cron: "* * * * *"}, 1b: {}}')).toEqual([
			['apart', 'a'],
			['name', '1b'],
		])
	})
	it('says what was meant', () => {
		expect(marksOf(reader, 'workflow: w\nstat: online\ntasks: {a: {}}')[0]!.args.near).toBe('state')
		expect(near('cylce', ['cycle', 'cron'])).toBe('cycle')
		expect(near('entirely', ['cycle', 'cron'])).toBe('')
	})
	it('leaves to the server a text that YAML reads as true, and what is no YAML', () => {
		expect(wrong('workflow: w\ntasks: {a: {title: true}}')).toEqual([])
		expect(wrong('workflow: [w\n')).toEqual([])
	})
})

describe('the help of a place', () => {
	const text = 'workflow: w\ntasks:\n  a:\n    type: shell\n    cycle: day\n'
	const help = (of: string) => helpAt(reader, read(text), text.indexOf(of) + 1)
	it('is that of its key, or of the value that has one of its own', () => {
		expect(help('type')).toMatchObject({ name: 'type', help: 'The task type.' })
		expect(help('shell')).toMatchObject({ name: 'shell', help: 'A script.', detail: '' })
		expect(help('day')).toMatchObject({ name: 'cycle', help: 'How long one period is.' })
		expect(help('  a')).toBeUndefined()
	})
})

describe('in Chinese', () => {
	const def = (name: string) => readFileSync(new URL(`../../../lib/sched/${name}.def`, import.meta.url), 'utf8')
	it('every key of the tables has its help', () => {
		const all = ['workflow_keys', 'calendar_keys', 'target_keys'].flatMap(name =>
			[...def(name).matchAll(/^[A-Z]+_(?:KEY|OWN)\(.*"((?:[^"\\]|\\.)*)"\)$/gm)].map(m => m[1]!),
		)
		expect(all.length).toBeGreaterThan(150)
		const lacks = all.map(h => h.split(' Write ')[0]!).filter(h => !helps[h])
		expect([...new Set(lacks)]).toEqual([])
		const known = new Set(all.map(h => h.split(' Write ')[0]!))
		expect(Object.keys(helps).filter(h => !known.has(h))).toEqual([])
	})
	it('what people may write stays, and task types have their own', () => {
		expect(chinese('The name of the calendar. Write a name.')).toBe('日历的名称。（a name）')
		const types = [
			{
				type: 'shell',
				help: { en: 'A script.', zh: '脚本。' },
				params: [{ name: 'script', help: { en: '', zh: '要运行的脚本' } }],
			},
		] as never
		const got = translated(schema, types)
		expect(got.$defs!['params-shell']!.properties!.script).toMatchObject({ description: '要运行的脚本' })
		expect(got.$defs!.type!.anyOf![0]!.description).toBe('脚本。')
		expect((schema.$defs!['params-shell']!.properties!.script as Schema).description).toBe('What /bin/sh runs.')
	})
})
