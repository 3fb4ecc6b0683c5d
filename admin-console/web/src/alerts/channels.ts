/* A channel, an on-call list and a rule as forms hold them, and what is sent of them. Pure. */
import type { Schemas } from '@/api/client'
import type { Channels } from '@/api/ops'
import { words } from '@/ops/rights'

export type Channel = Channels['channels'][number]
export const channelKinds = [
	'mail',
	'webhook',
	'slack',
	'dingtalk',
	'wecom',
	'feishu',
	'telegram',
	'pagerduty',
	'alertmanager',
	'file',
] as const
type ChannelKind = (typeof channelKinds)[number]

export const channelForm = (x?: Channel) => ({
	channel: x?.name ?? '',
	kind: (x?.kind ?? 'webhook') as ChannelKind,
	url: x?.kind === 'mail' ? (x.where ?? '') : '',
	sender: x?.sender ?? '',
	user: x?.user ?? '',
	password: '',
	secret: '',
	chat: x?.chat ?? '',
	language: (x?.language ?? '') as '' | 'en' | 'zh',
	insecure: x?.insecure ?? false,
	projects: (x?.projects ?? []).join(', '),
})
export type ChannelForm = ReturnType<typeof channelForm>

/* Which fields a kind has. */
export const takes = (kind: string, field: 'url' | 'sender' | 'user' | 'secret' | 'chat') =>
	({
		url: kind !== 'file',
		sender: kind === 'mail',
		user: ['mail', 'webhook', 'alertmanager'].includes(kind),
		secret: ['webhook', 'dingtalk', 'feishu', 'pagerduty'].includes(kind),
		chat: kind === 'telegram',
	})[field]

/* A secret that was not typed stays as it is. */
export const channelSent = (f: ChannelForm): Schemas['ChannelNew'] => ({
	channel: f.channel.trim(),
	kind: f.kind,
	...(f.url.trim() ? { url: f.url.trim() } : {}),
	...(f.password ? { password: f.password } : {}),
	...(f.secret ? { secret: f.secret } : {}),
	...(takes(f.kind, 'sender') ? { sender: f.sender.trim() } : {}),
	...(takes(f.kind, 'user') ? { user: f.user.trim() } : {}),
	...(takes(f.kind, 'chat') ? { chat: f.chat.trim() } : {}),
	language: f.language,
	insecure: f.insecure,
	projects: words(f.projects),
})

export type OwnRule = NonNullable<Schemas['Rules']['rules']>[number]
export const ruleForm = (x?: OwnRule) => ({
	rule: x?.name ?? '',
	when: [...(x?.when ?? ['failed'])],
	to: (x?.to ?? []).join('\n'),
	of: x?.covers ?? '',
	after: x?.after ?? '',
})
export const lines = (text: string) =>
	text
		.split('\n')
		.map(x => x.trim())
		.filter(Boolean)
/* A path of one part is a project, of two a workflow, of three a task. */
export function ruleSent(f: ReturnType<typeof ruleForm>): Schemas['RuleNew'] {
	const of = f.of.trim().replace(/^\/+|\/+$/g, ''),
		what = (['project', 'workflow'] as const)[of.split('/').length - 1] ?? 'task'
	return { rule: f.rule.trim(), when: f.when, to: lines(f.to), after: f.after.trim(), ...(of ? { [what]: of } : {}) }
}

export type List = Schemas['OncallLists']['lists'][number]
export const turns = ['all', 'day', 'week'] as const
export const listForm = (x?: List) => ({
	oncall: x?.name ?? '',
	people: (x?.people ?? []).join('\n'),
	every: (x?.every ?? 'week') as (typeof turns)[number],
	start: x?.start ?? '',
	zone: x?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
	projects: (x?.projects ?? []).join(', '),
})
export const listSent = (f: ReturnType<typeof listForm>): Schemas['OncallNew'] => ({
	oncall: f.oncall.trim(),
	people: lines(f.people),
	every: f.every,
	...(f.every === 'all' ? {} : { start: f.start.trim() }),
	zone: f.zone.trim(),
	projects: words(f.projects),
})
