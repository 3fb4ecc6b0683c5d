/* What operators ask for besides: task types' versions, target servers, promises, retention, nodes. */
import { get, path, post, send, type Args, type Command, type Document, type Page, type Schemas } from './client'

export type Plugin = Schemas['Plugin']
export type Target = Schemas['Target']
export type TargetNew = Schemas['TargetNew']
export type Forecast = Schemas['Forecast']
export type ForecastRow = Schemas['ForecastRow']
export type Baseline = Required<
	Omit<NonNullable<Forecast['baselines']>[number], 'cause' | 'expected' | 'expected_slow' | 'cannot_start'>
> & {
	expected: string | null
	expected_slow: string | null
	cannot_start?: Schemas['CannotStart'] | null
	cause?: { id: string; task: string; run_date: string; label?: string; part: number; state: string } | null
}
export type Node = Schemas['Node']
export type Project = Schemas['Project']
export type Peer = Schemas['Peer']

export const ops = {
	plugins: (s?: AbortSignal) => get<Schemas['Plugins']>('/plugins', {}, s),
	targets: (s?: AbortSignal) => get<Schemas['Targets']>('/servers', {}, s),
	targetSet: (x: TargetNew) => post<Command>('/servers', x),
	targetTest: (name: string, project?: string) =>
		post<Command>(`/servers/${encodeURIComponent(name)}/test`, project ? { project } : {}),
	targetDrop: async (name: string) => {
		await send('DELETE', '/servers/' + encodeURIComponent(name))
	},
	forecast: (name: string, date?: string, s?: AbortSignal) => get<Forecast>('/forecast', { name, date }, s),
	baselines: (date?: string, s?: AbortSignal) => get<{ now: string; baselines: Baseline[] }>('/baselines', { date }, s),
	retention: (days: number, s?: AbortSignal) => get<Schemas['Retention']>('/retention', { days }, s),
	retentionLogs: (s?: AbortSignal) => get<Schemas['RetentionLogs']>('/retention/logs', {}, s),
	quotas: (s?: AbortSignal) => get<Schemas['Quotas']>('/quotas', {}, s),
	projects: (s?: AbortSignal) => get<Schemas['Projects']>('/projects', {}, s),
	nodes: (s?: AbortSignal) => get<Schemas['Nodes']>('/nodes', {}, s),
	parameters: (args: Args, s?: AbortSignal) => get<Page<Document>>('/parameters', args, s),
	document: (kind: 'calendars' | 'workflows', name: string, version?: number, s?: AbortSignal) =>
		get<Document & { versions: Document[] }>(`/${kind}/` + path(name), { version }, s),
}

export const peers = {
	list: (s?: AbortSignal) => get<Schemas['Peers']>('/peers', {}, s),
	set: (x: Schemas['PeerNew']) => post<Command>('/peers', x),
	invite: (name: string, x: Schemas['PeerInvite']) =>
		post<Schemas['PeerCode']>(`/peers/${encodeURIComponent(name)}/invite`, x),
	/* Refused if another key waits by now. */
	approve: (name: string, fingerprint: string) =>
		post<Command>(`/peers/${encodeURIComponent(name)}/approve`, { fingerprint }),
}

/* The second factor of who asks. */
export const factor = {
	state: (s?: AbortSignal) => get<Schemas['Factor']>('/me/totp', {}, s),
	begin: (password: string) => post<Schemas['FactorSecret']>('/me/totp', { password }),
	confirm: (code: string) => post<Schemas['RecoveryCodes']>('/me/totp/confirm', { code }),
	remove: (password: string, code: string) => post<object>('/me/totp/remove', { password, code }),
}

export type Alert = Schemas['Alert']
export type Silences = Schemas['Silences']
export type Channels = Schemas['Channels']
export type Rules = Schemas['Rules']

export const alerts = {
	list: (args: Args, s?: AbortSignal) => get<Page<Alert>>('/alerts', args, s),
	acknowledge: (id: string, note: string) =>
		post<Command>(`/alerts/${encodeURIComponent(id)}/acknowledge`, note ? { note } : {}),
	silences: (all: boolean, s?: AbortSignal) => get<Silences>('/silences', { all }, s),
	silence: (x: Schemas['SilenceNew']) => post<Command>('/silences', x),
	unsilence: async (id: string) => {
		await send('DELETE', '/silences/' + encodeURIComponent(id))
	},
	channels: (s?: AbortSignal) => get<Channels>('/channels', {}, s),
	test: (name: string, to?: string) =>
		post<Schemas['ChannelTested']>(`/channels/${encodeURIComponent(name)}/test`, to ? { to } : {}),
	channelSet: (x: Schemas['ChannelNew']) => post<Command>('/channels', x),
	channelRemove: (name: string) => send('DELETE', '/channels/' + encodeURIComponent(name)),
	rules: (workflow: string, s?: AbortSignal) => get<Rules>('/rules', { workflow }, s),
	ownRules: (s?: AbortSignal) => get<Rules>('/rules', {}, s),
	ruleSet: (x: Schemas['RuleNew']) => post<Command>('/rules', x),
	ruleRemove: (name: string) => send('DELETE', '/rules/' + encodeURIComponent(name)),
	oncall: (s?: AbortSignal) => get<Schemas['OncallLists']>('/oncall', {}, s),
	oncallSet: (x: Schemas['OncallNew']) => post<Command>('/oncall', x),
	oncallRemove: (name: string) => send('DELETE', '/oncall/' + encodeURIComponent(name)),
}

export const pushes = {
	list: (s?: AbortSignal) => get<Schemas['Devices']>('/push', {}, s),
	key: (s?: AbortSignal) => get<Schemas['PushKey']>('/push/key', {}, s),
	add: (x: Schemas['DeviceNew']) => post<Schemas['DeviceKept']>('/push', x),
	drop: async (device: string) => {
		await send('DELETE', '/push/' + encodeURIComponent(device))
	},
	test: (device: string) => post<Schemas['ChannelTested']>(`/push/${encodeURIComponent(device)}/test`, {}),
}

export type Group = Schemas['Group']
export type Token = Schemas['Token']

export const people = {
	sessions: (all: boolean, s?: AbortSignal) => get<Schemas['SignIns']>('/sessions', { all }, s),
	sessionEnd: async (id: string): Promise<Schemas['Ended']> =>
		(await send('DELETE', '/sessions/' + encodeURIComponent(id))).json(),
	/* All sessions of the caller but this one. */
	sessionsEnd: async (): Promise<Schemas['Ended']> => (await send('DELETE', '/sessions')).json(),
	groups: (s?: AbortSignal) => get<Schemas['Groups']>('/groups', {}, s),
	groupSet: (g: Schemas['GroupNew']) => post<Command>('/groups', g),
	groupDrop: async (name: string) => {
		await send('DELETE', '/groups/' + encodeURIComponent(name))
	},
	apps: (s?: AbortSignal) => get<Schemas['Apps']>('/apps', {}, s),
	appMake: (a: Schemas['AppNew']) => post<Schemas['AppMade']>('/apps', a),
	appDrop: async (name: string) => {
		await send('DELETE', '/apps/' + encodeURIComponent(name))
	},
}
