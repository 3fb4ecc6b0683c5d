/* The text of a document: read into a state, printed from one. What nobody changed prints as it was read. */
import { isMap, Pair, parseDocument, YAMLMap } from 'yaml'
import { find, isPipeline, listKey, options, type Fault, type Place, type State } from './parts'
import { stepPairs, stepSeq } from './steps'

export function readText(source: string, places: ReadonlyMap<string, Place>, before?: State): State {
	const doc = parseDocument(source, options)
	if (doc.errors.length || !isMap(doc.contents)) {
		const old = before ?? { doc: parseDocument('{}', options), head: [], tasks: [], places, broken: null }
		return { ...old, broken: source }
	}
	const head = (doc.contents.items as Pair[]).slice(),
		list = head[find(head, listKey(head))]?.value
	return {
		doc,
		head,
		tasks: isPipeline(head) ? stepPairs(list) : isMap(list) ? (list.items as Pair[]).slice() : [],
		places,
		broken: null,
	}
}

function taskMap(was: unknown, tasks: Pair[]): YAMLMap {
	const map = new YAMLMap()
	if (isMap(was)) {
		map.comment = was.comment
		map.commentBefore = was.commentBefore
		map.spaceBefore = was.spaceBefore
		map.flow = was.flow && !tasks.length
	}
	map.items = tasks
	if (!tasks.length) map.flow = true
	return map
}

export function printText({ doc, head: was, tasks }: State): string {
	const head = [...was],
		key = listKey(head)
	let at = find(head, key)
	if (at < 0) at = head.push(new Pair(doc.createNode(key), null) as Pair) - 1
	const old = head[at]!
	head[at] = new Pair(old.key, isPipeline(head) ? stepSeq(old.value, tasks) : taskMap(old.value, tasks)) as Pair
	;(doc.contents as YAMLMap).items = head
	return doc.toString({ lineWidth: 0, blockQuote: 'literal', flowCollectionPadding: false })
}

/* Why a text cannot be read. */
export function textFaults(source: string): Fault[] {
	const doc = parseDocument(source, { ...options, prettyErrors: true })
	if (!doc.errors.length) return [{ line: 1, column: 1, code: 'syntax', message: 'a map is expected' }]
	return doc.errors.map(e => ({
		line: e.linePos?.[0].line ?? 1,
		column: e.linePos?.[0].col ?? 1,
		code: 'syntax',
		message: e.message.split('\n')[0]!.replace(/ at line \d+.*$/, ''),
	}))
}
