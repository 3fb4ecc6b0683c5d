/* Where one is in the grid and where a step leads. Pure. */
import { isTask, kindAt, type Column, type Row } from '@/domain/grid'
import { kinds, type Kind } from '@/domain/states'
import type { At } from '@/graph/gridpicture'

/* Keys that move: rows, columns. Of columns Infinity is to the end. */
export const steps: Readonly<Record<string, readonly [dr: number, dc: number]>> = {
	ArrowUp: [-1, 0],
	ArrowDown: [1, 0],
	ArrowLeft: [0, -1],
	ArrowRight: [0, 1],
	Home: [0, -Infinity],
	End: [0, Infinity],
	PageUp: [-12, 0],
	PageDown: [12, 0],
	j: [1, 0],
	k: [-1, 0],
}

/* One after the other, over the heads of groups, as far as there are any. */
export function moved(rows: readonly Row[], n: number, from: At, [dr, dc]: readonly [number, number]): At {
	let at = from.r
	for (let left = Math.abs(dr); left > 0; left--) {
		let r = at + Math.sign(dr)
		while (rows[r] && !isTask(rows[r])) r += Math.sign(dr)
		if (!isTask(rows[r])) break
		at = r
	}
	return { r: at, c: Math.max(0, Math.min(n - 1, from.c + dc)) }
}

/* The newest run of the first task; null: there is none. */
export function start(rows: readonly Row[], n: number): At | null {
	const r = rows.findIndex(isTask)
	return r < 0 || n === 0 ? null : { r, c: n - 1 }
}

/* A cell as the address has it: TASK@LABEL, the task without its workflow. */
export function placed(text: string, name: string, rows: readonly Row[], cols: readonly Column[]): At | null {
	const at = text.lastIndexOf('@')
	if (at < 0) return null
	const r = rows.findIndex(x => isTask(x) && x.task === `${name}/${text.slice(0, at)}`),
		c = cols.findIndex(x => x.label === text.slice(at + 1))
	return r >= 0 && c >= 0 ? { r, c } : null
}

/* What there is to see of each state, in the order of the legend. */
export function seen(rows: readonly Row[], cols: readonly Column[]): { kind: Kind; n: number }[] {
	const n = new Map<Kind, number>()
	for (const r of rows)
		if (isTask(r))
			for (const c of cols) {
				const k = kindAt(c.cells, r.at)
				if (k) n.set(k, (n.get(k) ?? 0) + 1)
			}
	return kinds.filter(k => n.get(k)).map(k => ({ kind: k, n: n.get(k)! }))
}
