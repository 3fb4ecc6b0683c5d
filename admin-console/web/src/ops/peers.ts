/* What the page of peers makes of the server's list. Pure. */
import type { Peer } from '@/api/ops'

export const kinds = ['broker', 'face', 'notifier', 'client'] as const
export type Kind = (typeof kinds)[number]

/* Of each kind: the program that enrols, and where its settings are in the packages; a client has none. */
const programs: Record<Kind, string> = {
	broker: 'taskbroker -c /etc/sirdar/taskbroker.yaml',
	face: 'sirdar-cgi -c /etc/sirdar/cgi.yaml',
	notifier: 'sirdar-notifier -c /etc/sirdar/notifier.yaml',
	client: '',
}
export const enrolLine = (kind: Kind, code: string) => programs[kind] && `${programs[kind]} enrol ${code}`

/* A key in groups of four, that eyes compare. */
export const grouped = (key: string) => key.match(/.{1,4}/gu) ?? []

/* Who waits for somebody comes first, who is let in no more last; else by name. */
const order = ['pending', 'unassigned', 'invited', 'active', 'expired', 'revoked']
export const sorted = (all: readonly Peer[]) =>
	[...all].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || a.peer.localeCompare(b.peer))

export const looks: Record<Peer['state'], string> = {
	active: 'tinted state-succ',
	pending: 'tinted state-late',
	unassigned: 'tinted state-late',
	invited: '',
	expired: 'tinted state-failed',
	revoked: 'tinted state-failed',
}
