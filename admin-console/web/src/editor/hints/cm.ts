/* The hints of a schema in CodeMirror: completion, help where the mouse stands, marks. */
import {
	acceptCompletion,
	autocompletion,
	completionKeymap,
	startCompletion,
	type Completion,
	type CompletionContext,
	type CompletionResult,
} from '@codemirror/autocomplete'
import { lintKeymap, type Diagnostic } from '@codemirror/lint'
import { Prec, type EditorState, type Extension } from '@codemirror/state'
import { EditorView, hoverTooltip, keymap, ViewPlugin } from '@codemirror/view'
import type { Document } from 'yaml'
import { helpAt, marksOf, offersAt, type Help, type Offer } from './offer'
import { read } from './place'
import { w } from '@/words/hints'
import { said } from './say'
import type { Reader } from './schema'

function completion(o: Offer): Completion {
	return {
		label: o.label,
		detail: o.must ? w('must') : o.detail,
		info: o.help || undefined,
		type: o.kind,
		boost: o.must ? 50 : o.kind === 'task' ? 20 : 0,
		apply: (view, _, from, to) => {
			view.dispatch({
				changes: { from, to, insert: o.apply },
				selection: { anchor: from + o.apply.length },
				userEvent: 'input.complete',
				scrollIntoView: true,
			})
			if (o.kind === 'key' && /[ \n]$/.test(o.apply)) setTimeout(() => startCompletion(view), 0)
		},
	}
}

const complete =
	(reader: Reader) =>
	(ctx: CompletionContext): CompletionResult | null => {
		const text = ctx.state.doc.toString()
		const typed = /[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, ctx.pos - 1), ctx.pos))
		if (!ctx.explicit && !typed) return null
		const offers = offersAt(reader, text, ctx.pos)
		if (!offers.length) return null
		return { from: offers[0]!.from, to: offers[0]!.to, options: offers.map(completion), validFor: /^[^\s:,[\]{}#]*$/u }
	}

/* One reading a state: the text is not read again while nothing is typed. */
let last: { of: EditorState['doc']; doc: Document } | undefined
const docOf = (state: EditorState) => {
	if (last?.of !== state.doc) last = { of: state.doc, doc: read(state.doc.toString()) }
	return last.doc
}

export function helpOf(reader: Reader, state: EditorState, pos: number): Help | undefined {
	return helpAt(reader, docOf(state), pos)
}

function card(h: Help): HTMLElement {
	const dom = document.createElement('div')
	dom.className = 'hint-card'
	const put = (tag: string, text: string) => {
		const el = document.createElement(tag)
		el.textContent = text
		dom.append(el)
	}
	put('b', h.name)
	put('p', h.help)
	if (h.detail) put('small', w('of', { values: h.detail }))
	return dom
}

const hover = (reader: Reader) =>
	hoverTooltip((view, pos) => {
		const h = helpOf(reader, view.state, pos)
		return h ? { pos: h.from, end: h.to, above: true, create: () => ({ dom: card(h) }) } : null
	})

/* The server's word on a line stands instead of the schema's: `heard` is the lines that it speaks of. */
export function marks(reader: Reader, state: EditorState, heard: ReadonlySet<number>): Diagnostic[] {
	return marksOf(reader, state.doc.toString())
		.filter(m => !heard.has(state.doc.lineAt(m.from).number))
		.map(m => ({
			from: m.from,
			to: Math.min(Math.max(m.to, m.from), state.doc.lineAt(m.from).to),
			severity: 'error',
			message: said(m),
		}))
}

const look = EditorView.theme({
	'.hint-card': { padding: '6px 10px', maxWidth: '420px', lineHeight: '18px' },
	'.hint-card p': { margin: '2px 0' },
	'.hint-card small': { color: 'var(--text-2)' },
	'.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '280px' },
	'.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px', lineHeight: '18px' },
	'.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
		background: 'var(--accent-bg)',
		color: 'var(--text)',
	},
	'.cm-completionDetail': { color: 'var(--text-2)', fontStyle: 'normal', fontSize: '11px' },
	'.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
	'.cm-tooltip.cm-completionInfo': { padding: '6px 10px', maxWidth: '360px', lineHeight: '18px' },
	'.cm-panel.cm-panel-lint ul [aria-selected]': { background: 'var(--accent-bg)', color: 'var(--text)' },
})

/* A list that scrolls is reached by who scrolls by keys; CodeMirror's own is not. */
const reached = ViewPlugin.define(view => {
	const seen = new MutationObserver(() =>
		view.dom.querySelector('.cm-tooltip-autocomplete > ul')?.setAttribute('tabindex', '0'),
	)
	seen.observe(view.dom, { childList: true, subtree: true })
	return { destroy: () => seen.disconnect() }
})

/* Tab takes what is chosen; without an open list it leaves the field, as everywhere. */
export function hints(reader: Reader, writable: boolean): Extension {
	return [
		look,
		hover(reader),
		keymap.of(lintKeymap),
		writable
			? [
					reached,
					autocompletion({ override: [complete(reader)], icons: false, activateOnTyping: true, defaultKeymap: false }),
					Prec.highest(keymap.of([...completionKeymap, { key: 'Tab', run: acceptCompletion }])),
				]
			: [],
	]
}
