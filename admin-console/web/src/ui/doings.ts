/* What a sentence of the palette comes to: entries that open the dialog with the server's plan, or the page that answers. */
import type { Component } from 'vue'
import { CircleHelp, Play, ScrollText } from '@lucide/vue'
import { dated, meant, selectionOf, sentenceOf, type Named, type Sentence } from '@/domain/sentence'
import { t } from '@/i18n'
import { addressPath } from '@/run/link'
import { can } from '@/stores/session'
import { w } from '@/words/palette'
import { actBy, acts, type Act } from './bulk'
import { start } from './start'

interface Doing {
	id: string
	group: string
	label: string
	more?: string
	icon: Component
	mono: boolean
	run: () => void
}

const workflowOf = (task: string) => task.split('/').slice(0, 2).join('/')

/* The page of its instance, by the date as written: the server reads it there. Without one all its instances. */
function answer(s: Sentence, of: Named, go: (to: string) => void): Omit<Doing, 'id' | 'group' | 'mono'> {
	const tab = s.verb === 'why' ? 'why' : 'log'
	return {
		label: s.verb === 'why' ? w('why', { name: of.name }) : w('logs', { name: of.name }),
		icon: s.verb === 'why' ? CircleHelp : ScrollText,
		run: () =>
			go(
				s.date
					? `${addressPath({ task: of.name, label: s.date })}?tab=${tab}`
					: '/ops/t?q=' + encodeURIComponent('task:' + of.name),
			),
	}
}

function doing(s: Sentence, of: Named, go: (to: string) => void): Omit<Doing, 'id' | 'group' | 'mono'> | undefined {
	if (s.verb === 'why' || s.verb === 'logs') return answer(s, of, go)
	if (!can('operator', of.name)) return undefined
	if (s.verb === 'run')
		return {
			label: w('run', { name: of.name }),
			icon: Play,
			run: () => (of.kind === 'task' ? start(workflowOf(of.name), of.name, s.date) : start(of.name, undefined, s.date)),
		}
	if (!s.date && dated.includes(s.verb)) return undefined
	const act: Act = s.verb,
		label = w('act', { verb: t(acts[act].key), name: of.name })
	return {
		label,
		icon: acts[act].icon,
		run: () => actBy(act, selectionOf(s, of), [label, s.date].filter(Boolean).join(' ')),
	}
}

function more(s: Sentence) {
	if (s.date) return s.date
	return s.verb === 'redo' ? w('failed') : s.verb === 'kill' ? w('running') : undefined
}

export function doings(text: string, all: readonly Named[], go: (to: string) => void): Doing[] {
	const s = sentenceOf(text)
	if (!s) return []
	return meant(s, all).flatMap(of => {
		const made = doing(s, of, go)
		return made ? [{ id: 'do' + of.kind + of.name, group: w('do'), more: more(s), mono: false, ...made }] : []
	})
}
