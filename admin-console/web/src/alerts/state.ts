/* What the tabs of alerts share and need no page for. Pure. */
import type { Alert, Silences } from '@/api/ops'
import type { Schemas } from '@/api/client'
import type { Kind } from '@/domain/states'

export type Told = Alert['told'][number]
export type Silence = Silences['silences'][number]

export const kinds = [
	'failed',
	'late',
	'long',
	'hanged',
	'killed',
	'retried',
	'skipped',
	'at_risk',
	'breached',
	'broker_lost',
	'broker_twice',
	'peer_misbehaves',
	'plugin_down',
	'quarantine',
	'crowded',
	'starts_fail',
	'trouble',
	'leader_changed',
] as const
/* How long a silence lasts, hours. */
export const spans = ['0.5', '1', '2', '4', '8', '24', '72', '168'] as const

export const toldKind = (x: Pick<Told, 'state' | 'error'>): Kind =>
	x.state === 'sent' ? 'succ' : x.state === 'given_up' ? 'failed' : x.error && x.state !== 'dropped' ? 'retry' : 'ready'
/* Messages that somebody still waits for, or never got. */
export const unsaid = (all: readonly Pick<Told, 'state' | 'error'>[]) =>
	all.filter(x => x.error && x.state !== 'sent').length

export const silenceForm = (a?: { task?: string | null; kind: string }) => ({
	of: a?.task ?? '',
	kind: a?.kind ?? '',
	hours: '2',
	reason: '',
})
/* A path of one part is a project, of two a workflow, of three a task; none: everything of that kind. */
export function silenceOf(f: ReturnType<typeof silenceForm>, now: number): Schemas['SilenceNew'] {
	const of = f.of.trim().replace(/^\/+|\/+$/g, ''),
		what = (['project', 'workflow'] as const)[of.split('/').length - 1] ?? 'task'
	return {
		...(of ? { [what]: of } : {}),
		...(f.kind ? { kind: f.kind } : {}),
		until: new Date(now + Number(f.hours) * 3_600_000).toISOString().replace(/\.\d+Z/, 'Z'),
		reason: f.reason,
	} as Schemas['SilenceNew']
}
export const silenced = (x: Silence) => x.task ?? x.workflow ?? x.project ?? '*'
