/* The marks and helps of a schema in the reader's language. The schema is written in English: its words are looked up by what
 * they say (`zh.ts`, held to the tables by a test), those of task types come in both languages from their manifests. */
import type { TaskType } from '@/api/client'
import { fill } from '@/i18n'
import { w } from '@/words/hints'
import type { Mark, Schema } from './schema'
import { helps } from './zh'

export function said(m: Mark): string {
	const text = fill(w.of('wrong', m.wrong), m.args)
	if (m.args.near) return `${text} ${w('near', { near: m.args.near })}`
	return m.help && m.wrong !== 'missing' && m.wrong !== 'unknown' ? `${text} ${m.help}` : text
}

/* `Write …` is how the schema says what people may write: it has words of YAML, so it stays. */
export function chinese(help: string): string {
	const at = help.lastIndexOf(' Write '),
		what = helps[at < 0 ? help : help.slice(0, at)]
	if (!what) return helps[help] ?? help
	return at < 0 ? what : `${what}（${help.slice(at + 7).replace(/\.$/, '')}）`
}

/* The schema with its helps in Chinese. */
export function translated(root: Schema, types: readonly TaskType[]): Schema {
	const of = new Map(types.map(t => [t.type, t]))
	const walk = (v: unknown): unknown => {
		if (Array.isArray(v)) return v.map(walk)
		if (!v || typeof v !== 'object') return v
		return Object.fromEntries(
			Object.entries(v).map(([k, x]) => [k, k === 'description' && typeof x === 'string' ? chinese(x) : walk(x)]),
		)
	}
	const out = walk(root) as Schema
	for (const [name, def] of Object.entries(out.$defs ?? {})) {
		const t = name.startsWith('params-') ? of.get(name.slice('params-'.length)) : undefined
		if (!t) continue
		if (t.help?.zh) def.description = t.help.zh
		for (const p of t.params ?? []) {
			const s = def.properties?.[p.name]
			if (s && typeof s !== 'boolean' && p.help?.zh) s.description = p.help.zh
		}
	}
	for (const s of out.$defs?.type?.anyOf ?? []) {
		const t = of.get(String(s.const))
		if (t?.help?.zh) s.description = t.help.zh
	}
	return out
}
