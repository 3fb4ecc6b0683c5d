/* The hints of the server's JSON Schema of documents, in a chunk of their own: asked for once, when somebody reads YAML. */
import { api } from '@/api/client'
import { prefs } from '@/stores/prefs'
import { Reader, type Schema } from './schema'
import { translated } from './say'

export { helpOf, hints, marks } from './cm'

let asked: Promise<Schema> | undefined
const schema = () =>
	(asked ??= api.documentSchema().catch(e => {
		asked = undefined
		throw e
	}))

/* In the reader's language: what is not translated stays English. */
export async function reader(): Promise<Reader> {
	const root = await schema()
	if (prefs.lang !== 'zh') return new Reader(root)
	const types = await api.types().catch(() => ({ types: [] }))
	return new Reader(translated(root, types.types))
}
