/* A target server as a form holds it, and what is sent of it. Pure. */
import type { Target, TargetNew } from '@/api/ops'
import { words } from './rights'

export const kinds = ['mysql', 'mariadb', 'postgresql', 'sqlite', 'http', 'hive', 'presto', 'ssh', 'other'] as const

/* Kinds that a runner can try to connect to (schema/tbl/target_kind.def). */
export const testable = (x: Target) => ['mysql', 'mariadb', 'postgresql', 'sqlite', 'http'].includes(x.kind)

/* As a job of which project: the server knows where there is but one it can be. */
export const testProject = (x: Target) =>
	x.projects.length > 1 && !x.projects.includes('*') ? x.projects[0] : undefined

/* Where a password is kept outside; '': it is sealed here. */
export const sources = ['vault', 'file', 'env', 'exec'] as const
type From = '' | (typeof sources)[number]

/* Shorter ones are not looked for in what jobs print (lib/util/mask.h). */
export const HIDDEN_MIN = 4

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
	from: (x?.password_from?.from ?? '') as From,
	path: x?.password_from?.path ?? '',
	key: x?.password_from?.key ?? '',
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

const passwordOf = (f: TargetForm): Pick<TargetNew, 'password'> => {
	if (f.from) return { password: { from: f.from, path: f.path.trim(), ...(f.key.trim() ? { key: f.key.trim() } : {}) } }
	return f.password ? { password: f.password } : f.drop ? { password: '' } : {}
}

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
	...passwordOf(f),
})
