/* Tasks that travel by the clipboard. Pure. */
import { empty, EditorDoc } from './doc'
import type { Place, TaskView } from './parts'
import { carried } from './steps'

export function freeName(doc: EditorDoc, stem: string): string {
	if (!doc.task(stem)) return stem
	const base = stem.replace(/_\d+$/, '')
	for (let i = 2; ; i++) if (!doc.task(`${base}_${i}`)) return `${base}_${i}`
}

/* Tasks for the clipboard: a piece of YAML that any workflow, or a text editor, takes. */
export function copied(doc: EditorDoc, names: ReadonlySet<string>): string {
	const piece = new EditorDoc(empty(doc.project, doc.name))
	if (doc.isPipeline) piece.apply('copy', d => d.become('pipeline'))
	piece.apply('copy', d => {
		for (const t of doc.tasks) if (names.has(t.name)) d.addTask(t.name, t.json)
	})
	return piece.text
}

/* What a text brings along, as plain values: it may have been read beside the page. */
export interface Piece {
	pipeline: boolean
	tasks: TaskView[]
}
export function pieceOf(source: string): Piece {
	const d = new EditorDoc(source)
	return { pipeline: d.isPipeline, tasks: d.broken ? [] : [...d.tasks] }
}

/* Their names where they are free; links among them follow, links to what is not here too when it is known here. */
export function put(doc: EditorDoc, piece: Piece, at?: Place): string[] {
	if (!piece.tasks.length) return []
	const names = new Map<string, string>(),
		taken = new Set(doc.tasks.map(t => t.name))
	for (const t of piece.tasks) {
		let name = t.name
		for (let i = 2; taken.has(name); i++) name = `${t.name.replace(/_\d+$/, '')}_${i}`
		taken.add(name)
		names.set(t.name, name)
	}
	doc.apply('paste', d => {
		piece.tasks.forEach((t, i) => {
			const json = piece.pipeline === doc.isPipeline ? { ...t.json } : carried(t.json)
			delete json.needs
			const needs = t.needs
				.filter(n => names.has(n.task) || n.task.includes('/') || doc.task(n.task))
				.map(n => ({ ...n, task: names.get(n.task) ?? n.task }))
			d.addTask(names.get(t.name)!, json, undefined, needs)
			if (at && !doc.isPipeline) d.place(names.get(t.name)!, { x: at.x + 24 * (i % 4), y: at.y + 70 * i })
		})
	})
	return [...names.values()]
}

export const paste = (doc: EditorDoc, source: string, at?: Place): string[] => put(doc, pieceOf(source), at)
