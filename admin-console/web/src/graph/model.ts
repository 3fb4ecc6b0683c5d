/* A graph to draw: nodes and edges by id, nothing of pages, canvas or Vue. */

export interface GraphNode {
	id: string
	label: string
	note?: string
	kind?: string
	ghost?: boolean
}
export interface GraphEdge {
	from: string
	to: string
	dashed?: boolean
}
export interface Graph {
	nodes: GraphNode[]
	edges: GraphEdge[]
}

export class Model {
	readonly index = new Map<string, number>()
	readonly out: number[][]
	readonly into: number[][]
	readonly edges: { from: number; to: number; dashed: boolean }[] = []

	constructor(
		readonly nodes: readonly GraphNode[],
		edges: readonly GraphEdge[],
	) {
		nodes.forEach((n, i) => this.index.set(n.id, i))
		this.out = nodes.map(() => [])
		this.into = nodes.map(() => [])
		const seen = new Set<string>()
		for (const e of edges) {
			const from = this.index.get(e.from),
				to = this.index.get(e.to)
			if (from === undefined || to === undefined || from === to || seen.has(from + '>' + to)) continue
			seen.add(from + '>' + to)
			this.edges.push({ from, to, dashed: e.dashed ?? false })
			this.out[from]!.push(to)
			this.into[to]!.push(from)
		}
	}

	/* Everything reachable: what it holds up, or what holds it. */
	reach(start: number, dir: 'out' | 'into'): Set<number> {
		const found = new Set<number>(),
			todo = [start]
		for (let n = todo.pop(); n !== undefined; n = todo.pop()) {
			for (const m of this[dir][n]!)
				if (!found.has(m)) {
					found.add(m)
					todo.push(m)
				}
		}
		return found
	}
}
