/* Acts on instances: asked for anywhere, shown in one dialog, followed in one drawer that a reload keeps. */
import { reactive, watch } from 'vue'
import {
	Ban,
	ChevronsUp,
	CirclePlay,
	Flag,
	RotateCcw,
	Skull,
	SkipForward,
	Snowflake,
	Square,
	Sun,
	Zap,
} from '@lucide/vue'
import type { Component } from 'vue'
import { api, type Command, type Instance, type Item } from '@/api/client'
import type { Key } from '@/i18n'
import { ended, follow as watchCommand } from '@/stores/command'

export type Act =
	| 'redo'
	| 'kill'
	| 'force-success'
	| 'freeze'
	| 'unfreeze'
	| 'priority'
	| 'skip'
	| 'enqueue'
	| 'run-now'
	| 'declare-dead'

export interface ActLook {
	icon: Component
	key: Key
	danger?: boolean
	from: string[] | null
}

/* `from`: states it makes sense in; null: any. */
export const acts: Record<Act, ActLook> = {
	redo: { icon: RotateCcw, key: 'cmd.redo', from: ['Succ', 'StopSchedule', 'Killed', 'Skipped', 'Failed', 'Running'] },
	kill: {
		icon: Square,
		key: 'cmd.kill',
		danger: true,
		from: ['Running', 'DependenceFinish', 'Ready', 'Failed', 'Hanged'],
	},
	'force-success': {
		icon: Flag,
		key: 'cmd.force-success',
		from: ['Ready', 'DependenceFinish', 'Failed', 'StopSchedule', 'Killed', 'Skipped', 'Hanged'],
	},
	freeze: { icon: Snowflake, key: 'cmd.freeze', from: ['Ready', 'DependenceFinish', 'Failed'] },
	unfreeze: { icon: Sun, key: 'cmd.unfreeze', from: null },
	priority: { icon: ChevronsUp, key: 'cmd.priority', from: ['Ready', 'DependenceFinish', 'Failed'] },
	enqueue: { icon: Zap, key: 'cmd.enqueue', from: ['Ready', 'Failed'] },
	'run-now': { icon: CirclePlay, key: 'cmd.run-now', from: ['Ready', 'DependenceFinish', 'Failed'] },
	skip: { icon: SkipForward, key: 'cmd.skip', from: ['Ready', 'DependenceFinish', 'Failed', 'StopSchedule'] },
	'declare-dead': { icon: Skull, key: 'cmd.declare-dead', danger: true, from: ['Hanged'] },
}
export const cancelIcon = Ban

export const fits = (a: Act, i: Instance) => {
	const frozen = i.flags?.includes('frozen') ?? false
	if (a === 'unfreeze') return frozen
	if (a === 'freeze' && frozen) return false
	return acts[a].from === null || acts[a].from!.includes(i.state)
}

export interface Plan {
	act: Act
	selection: Record<string, unknown>
	count: number | null
	sample: Instance[]
	query?: string
	/* Instead of a title that counts instances. */
	title?: string
}

export const bulk = reactive<{ plan: Plan | null }>({ plan: null })

export function act(a: Act, rows: Instance[]) {
	bulk.plan = {
		act: a,
		selection: { instances: rows.map(i => ({ id: i.id })) },
		count: rows.length,
		sample: rows.slice(0, 3),
	}
}

export function actOn(a: Act, selection: Record<string, unknown>, count: number | null, query?: string) {
	bulk.plan = { act: a, selection, count, sample: [], query }
}

/* What somebody wrote: the server reads its dates, and the dialog says what it made of them. */
export function actBy(a: Act, selection: Record<string, unknown>, title: string) {
	bulk.plan = { act: a, selection, count: null, sample: [], title }
}

/* --- what was asked for, until it is over and put away --- */

export interface Followed {
	id: string
	kind: string
	command: Command | null
	failed: Item[]
	error: string
	over: boolean
	open: boolean
	until: number
}

/* [id, when it may go by itself, 0 while nobody knows how it ended] */
function kept(): [string, number][] {
	try {
		return JSON.parse(sessionStorage.getItem('sirdar-commands') ?? '[]')
	} catch {
		return []
	}
}

export const followed = reactive<Followed[]>([])
const leave = new Map<string, () => void>()

export function follow(c: { command: string; kind: string }, until = 0) {
	if (followed.some(f => f.id === c.command)) return
	followed.push({ id: c.command, kind: c.kind, command: null, failed: [], error: '', over: false, open: false, until })
	const f = followed.at(-1)!
	leave.set(
		f.id,
		watchCommand(
			f.id,
			now => void take(f, now),
			e => {
				f.error = e.message
			},
		),
	)
}

export function unfollow(id: string) {
	const at = followed.findIndex(f => f.id === id)
	leave.get(id)?.()
	leave.delete(id)
	if (at >= 0) followed.splice(at, 1)
}

async function take(f: Followed, c: Command) {
	f.command = c
	f.kind = c.kind
	f.error = ''
	f.over = ended(c.state)
	/* All went well: once it was seen for a while it goes by itself; a reload before that shows it again. */
	if (f.over && c.state === 'done' && !c.failed) {
		f.until ||= Date.now() + 10_000
		setTimeout(() => unfollow(f.id), Math.max(0, f.until - Date.now()))
	}
	if ((c.failed ?? 0) > f.failed.length && f.failed.length < 100)
		f.failed = await api.items(f.id, { failed: true, limit: 100 }).then(
			got => got.items,
			() => f.failed,
		)
}

watch(
	() => followed.map(f => [f.id, f.until]),
	all => {
		try {
			sessionStorage.setItem('sirdar-commands', JSON.stringify(all))
		} catch {
			/* not kept then */
		}
	},
)

let resumed = false
export function resume() {
	if (resumed) return
	resumed = true
	for (const [id, until] of kept()) follow({ command: id, kind: '' }, until)
}
