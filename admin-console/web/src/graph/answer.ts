/* What the layout's worker does, apart from being one. */
import type { Answered, Asked } from './away'
import { layOut } from './layout'
import { Model } from './model'

export function answer(a: Asked): Answered {
	const nodes = Array.from({ length: a.nodes }, (_, i) => ({ id: String(i), label: '' }))
	return {
		number: a.number,
		layout: layOut(
			new Model(
				nodes,
				Array.from(a.from, (f, i) => ({ from: String(f), to: String(a.to[i]) })),
			),
			a.size,
		),
	}
}
