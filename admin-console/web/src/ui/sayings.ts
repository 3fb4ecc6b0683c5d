/* The sentence of a deed in the reader's language, and how a command ended. */
import type { Command } from '@/api/client'
import { commandWord } from '@/domain/coded'
import type { Deed } from '@/domain/deeds'
import { fill, t, type Key } from '@/i18n'
import { kindOf, type Kind } from '@/domain/states'
import { w } from '@/words/deeds'

const stateWord = (state: string) => t(`state.${kindOf({ state })}` as Key)

export function whatOf(d: Deed): string {
	const listed = d.names.join(', ')
	let what = d.more ? w('more', { names: listed, n: d.more }) : listed
	if (!what && d.count) what = w('instances', { n: d.count })
	if (what && d.states.length) what = w('those', { what, states: d.states.map(stateWord).join(', ') })
	return what && d.dates ? w('of', { what, dates: d.dates }) : what
}

export function sentence(d: Deed): string {
	const what = whatOf(d),
		did = w.of('did', d.kind)
	if (did !== d.kind && (what || !did.includes('{what}'))) return fill(did, { what })
	const verb = commandWord(d.kind)
	return what ? w('did.other', { verb, what }) : w('did.alone', { verb })
}

/* With what outcome; nothing is known of what is no command any more. */
export function outcomeOf(c: Command | undefined): { kind: Kind; text: string } | undefined {
	if (!c) return undefined
	const total = c.total ?? 0,
		failed = c.failed ?? 0
	if (c.state === 'failed') return { kind: 'failed', text: w('end.failed', { error: c.error ?? '' }) }
	if (c.state === 'done' && failed) return { kind: 'failed', text: w('end.part', { failed, total }) }
	if (c.state === 'done') return { kind: 'succ', text: total > 1 ? w('end.all', { n: total }) : w('end.done') }
	if (c.state === 'cancelled') return { kind: 'killed', text: w('end.cancelled') }
	return { kind: c.state === 'running' ? 'running' : 'ready', text: w.of('end', c.state) }
}
