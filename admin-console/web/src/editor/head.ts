/* What the head of the document says, as a form holds it. */
import { words } from './diff'
import type { Editor } from './editor'

/* `sub`: a key within a key. */
export function headOf(ed: Editor) {
	const get = (key: string, sub?: string): string | undefined => {
		void ed.tick.value
		const v = ed.doc().head(key)
		return sub
			? v && typeof v === 'object' && !Array.isArray(v)
				? words(v[sub]) || undefined
				: undefined
			: v === undefined
				? undefined
				: words(v)
	}
	const put = (key: string, v: string | undefined, sub?: string) => ed.setHead(sub ? [key, sub] : [key], v)
	return { get, put }
}
