/* The operations on a document: each puts changed copies in the place of what a snapshot holds. */
import { isMap, isScalar, isSeq, Pair, YAMLMap, type Document, type Node, type Scalar, type YAMLSeq } from 'yaml'
import {
	find,
	isPipeline,
	keyOf,
	listKey,
	plain,
	viewOf,
	type Map1,
	type Need,
	type Place,
	type State,
	type Value,
} from './parts'
import { hooks, isHook, stepPair } from './steps'

/* How a need is written: its name alone when there is no more to say. */
const needValue = (n: Need): Value => {
	const more = Object.fromEntries(Object.entries(n).filter(([, v]) => v !== undefined && v !== '')) as Map1
	return Object.keys(more).length === 1 ? n.task : more
}

/* What an operation may do; it sees and changes copies. */
export class Draft {
	head: Pair[]
	tasks: Pair[]
	places: Map<string, Place>

	constructor(
		readonly doc: Document,
		from: State,
	) {
		this.head = [...from.head]
		this.tasks = [...from.tasks]
		this.places = new Map(from.places)
	}

	private node(v: Value, flow = false): Node {
		const n = this.doc.createNode(v) as Node
		if (flow && (isMap(n) || isSeq(n))) n.flow = true
		return n
	}

	private put(map: YAMLMap, path: string[], v: Value | undefined) {
		if (typeof v === 'string' && v.includes('\n')) map.flow = false
		const [key, ...rest] = path as [string, ...string[]]
		if (rest.length) {
			let next = map.get(key)
			if (!isMap(next)) {
				if (v === undefined) return
				next = new YAMLMap()
				map.set(this.doc.createNode(key), next)
			}
			this.put(next as YAMLMap, rest, v)
			if (!(next as YAMLMap).items.length) map.delete(key)
			return
		}
		if (v === undefined) {
			map.delete(key)
			return
		}
		const old = map.get(key, true)
		if (typeof v === 'string' && isScalar(old)) {
			const copy = old.clone() as Scalar
			copy.value = v
			copy.source = undefined
			if (v.includes('\n')) copy.type = 'BLOCK_LITERAL'
			else if (copy.type === 'BLOCK_LITERAL' || copy.type === 'BLOCK_FOLDED') copy.type = undefined
			map.set(key, copy)
		} else map.set(old === undefined ? this.doc.createNode(key) : key, this.node(v, Array.isArray(v)))
	}

	private get steps() {
		return isPipeline(this.head)
	}

	private open(name: string): YAMLMap | null {
		const list = this.steps && isHook(name) ? this.head : this.tasks,
			at = find(list, name)
		if (at < 0) return null
		const copy = list[at]!.clone() as Pair
		if (!isMap(copy.value)) copy.value = new YAMLMap()
		list[at] = copy
		return copy.value as YAMLMap
	}

	/* Undefined takes the key away. */
	setHead(path: string[], v: Value | undefined) {
		const at = find(this.head, path[0]!)
		if (path.length === 1 && v === undefined) {
			if (at >= 0) this.head.splice(at, 1)
			return
		}
		const map = new YAMLMap()
		if (at >= 0) map.items.push(this.head[at]!.clone() as Pair)
		this.put(map, path, v)
		if (at >= 0) this.head.splice(at, 1, ...(map.items as Pair[]))
		else {
			const before = find(this.head, listKey(this.head))
			this.head.splice(before < 0 ? this.head.length : before, 0, ...(map.items as Pair[]))
		}
	}

	/* '': the whole, where a pipeline has what a task has. */
	setTask(name: string, path: string[], v: Value | undefined) {
		if (!name) {
			this.setHead(path, v)
			return
		}
		const map = this.open(name)
		if (map) this.put(map, path, v)
	}

	addTask(name: string, json: Map1, after?: string, needs: readonly Need[] = []) {
		if (this.steps) {
			this.addStep(name, json, after)
			return
		}
		const map = this.node(json) as YAMLMap,
			pair = new Pair(this.doc.createNode(name), map) as Pair
		if (needs.length) map.set(this.doc.createNode('needs'), this.list(needs))
		this.seat(pair, after)
	}
	private seat(pair: Pair, after?: string) {
		const at = after === undefined ? -1 : find(this.tasks, after)
		this.tasks.splice(at < 0 ? (after === '' ? 0 : this.tasks.length) : at + 1, 0, pair)
	}

	/* After '': the first of the row. */
	private addStep(name: string, json: Map1, after?: string) {
		if (isHook(name)) this.setHead([name], json)
		else this.seat(stepPair(name, this.node({ name, ...json })), after)
	}
	/* A step's place in the row; the nodes stay as they are. */
	moveStep(name: string, after: string) {
		const at = find(this.tasks, name)
		if (!this.steps || at < 0 || name === after || (after && find(this.tasks, after) < 0)) return
		this.seat(this.tasks.splice(at, 1)[0]!, after)
	}

	/* An empty document of the other kind. */
	become(kind: 'workflow' | 'pipeline') {
		const old = kind === 'pipeline' ? 'workflow' : 'pipeline',
			at = find(this.head, old)
		if (at < 0 || this.tasks.length) return
		this.head = this.head.filter(p => !['tasks', 'steps', 'defaults', 'cycle', ...hooks].includes(keyOf(p)))
		const here = find(this.head, old),
			pair = this.head[here]!.clone() as Pair
		if (isScalar(pair.key)) {
			pair.key.value = kind
			pair.key.source = undefined
		}
		this.head[here] = pair
		if (kind === 'pipeline') this.setHead(['cycle'], 'day')
	}

	removeTasks(names: ReadonlySet<string>) {
		this.tasks = this.tasks.filter(p => !names.has(keyOf(p)))
		if (this.steps) {
			this.head = this.head.filter(p => !isHook(keyOf(p)) || !names.has(keyOf(p)))
			return
		}
		for (const t of this.tasks.map(p => viewOf(this.doc, p))) {
			if (t.needs.some(n => names.has(n.task) && n.task !== t.name))
				this.setNeeds(
					t.name,
					t.needs.filter(n => !names.has(n.task)),
				)
		}
		for (const n of names) this.places.delete(n)
	}

	renameTask(old: string, name: string) {
		const at = find(this.tasks, old)
		if (at < 0) return
		const copy = this.tasks[at]!.clone() as Pair
		const key = isScalar(copy.key) ? (copy.key as Scalar) : null
		if (key) {
			key.value = name
			key.source = undefined
		} else copy.key = name
		this.tasks[at] = copy
		if (this.steps) {
			this.setTask(name, ['name'], name)
			return
		}
		for (const t of this.tasks.map(p => viewOf(this.doc, p))) {
			t.needs.forEach((n, i) => {
				if (n.task === old) this.setNeed(t.name, i, { ...n, task: name })
			})
		}
		const b = find(this.head, 'baselines')
		if (b >= 0) {
			const list = plain((this.head[b]!.value as Node).toJS(this.doc))
			if (Array.isArray(list) && list.some(x => (x as Map1).task === old))
				this.setHead(
					['baselines'],
					list.map(x => ((x as Map1).task === old ? { ...(x as Map1), task: name } : x)),
				)
		}
		const place = this.places.get(old)
		this.places.delete(old)
		if (place) this.places.set(name, place)
	}

	setNeeds(name: string, needs: Need[]) {
		const map = this.open(name)
		if (!map) return
		if (!needs.length) {
			map.delete('needs')
			return
		}
		map.set(map.has('needs') ? 'needs' : this.doc.createNode('needs'), this.list(needs))
	}

	private list(needs: readonly Need[]): YAMLSeq {
		const seq = this.node(needs.map(needValue)) as YAMLSeq
		seq.flow = needs.every(n => typeof needValue(n) === 'string')
		for (const i of seq.items) if (isMap(i)) i.flow = true
		return seq
	}

	/* One of them; the others keep their looks and comments. */
	setNeed(name: string, at: number, need: Need | null) {
		const map = this.open(name),
			seq = map?.get('needs')
		if (!map || !isSeq(seq)) return
		if (need === null) {
			seq.items.splice(at, 1)
			if (!seq.items.length) map.delete('needs')
			return
		}
		const v = needValue(need),
			node = this.node(v, true)
		if (typeof v !== 'string') seq.flow = seq.flow && seq.items.length === 1 ? false : seq.flow
		const old = seq.items[at] as Node | undefined
		node.comment = old?.comment
		node.commentBefore = old?.commentBefore
		seq.items[at] = node
	}

	addNeed(name: string, need: Need) {
		const map = this.open(name),
			seq = map?.get('needs')
		if (!map) return
		if (isSeq(seq)) seq.items.push(this.node(needValue(need), true))
		else this.setNeeds(name, [need])
	}

	place(name: string, at: Place | null) {
		if (at) this.places.set(name, at)
		else this.places.delete(name)
	}
}
