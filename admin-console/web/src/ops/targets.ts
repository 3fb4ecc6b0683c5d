/* A target server as a form holds it, and what is sent of it. Pure. */
import type { Target, TargetNew } from '@/api/ops'
import { words } from './rights'

export const kinds = ['mysql', 'mariadb', 'postgresql', 'sqlite', 'http', 'hive', 'presto', 'ssh', 'other'] as const

export const formOf = (x?: Target) => ({
	server: x?.server ?? '',
	kind: (x?.kind ?? 'mysql') as (typeof kinds)[number],
	host: x?.host ?? '',
	port: x?.port ? String(x.port) : '',
	user: x?.user ?? '',
	database: x?.database ?? '',
	extra: Object.entries(x?.extra ?? {})
		.map(([k, v]) => `${k}=${v}`)
		.join('\n'),
	concurrency: String(x?.concurrency ?? 0),
	projects: (x?.projects ?? []).join(', '),
	password: '',
	drop: false,
})
export type TargetForm = ReturnType<typeof formOf>

/* NAME=VALUE a line; a line without = is a name with nothing. */
export const pairs = (text: string) =>
	Object.fromEntries(
		text
			.split('\n')
			.map(l => l.trim())
			.filter(Boolean)
			.map(l => {
				const at = l.indexOf('=')
				return at < 0 ? [l, ''] : [l.slice(0, at).trim(), l.slice(at + 1).trim()]
			}),
	)

/* No password said: it stays as it is. */
export const sent = (f: TargetForm): TargetNew => ({
	server: f.server.trim(),
	kind: f.kind,
	host: f.host.trim(),
	port: Number(f.port) || 0,
	user: f.user,
	database: f.database,
	extra: pairs(f.extra),
	concurrency: Number(f.concurrency) || 0,
	projects: words(f.projects),
	...(f.password ? { password: f.password } : f.drop ? { password: '' } : {}),
})
