import {
	Activity,
	Bell,
	Blocks,
	BookOpen,
	Braces,
	CalendarDays,
	CalendarSync,
	CirclePlay,
	CircleX,
	Filter,
	HeartPulse,
	House,
	KeyRound,
	ListTree,
	Network,
	ScrollText,
	Server,
	ServerCog,
	Settings,
	SquareTerminal,
	Target,
	Users,
	Workflow,
} from '@lucide/vue'
import type { Component } from 'vue'
import type { Key } from '@/i18n'
import { can, type Role } from '@/stores/session'

export interface NavItem {
	to: string
	key: Key
	icon: Component
	group: 'develop' | 'operate' | 'manage'
	keys?: string
	bar?: boolean
	role?: Role
}

export const nav: NavItem[] = [
	{ to: '/', key: 'nav.home', icon: House, group: 'develop', keys: 'g h', bar: true },
	{ to: '/w', key: 'nav.workflows', icon: Workflow, group: 'develop', keys: 'g w', bar: true },
	{ to: '/r', key: 'nav.runs', icon: CirclePlay, group: 'develop', keys: 'g r' },
	{ to: '/b', key: 'nav.backfills', icon: CalendarSync, group: 'develop', keys: 'g d' },
	{ to: '/l', key: 'nav.lineage', icon: Network, group: 'develop', keys: 'g k' },
	{ to: '/calendars', key: 'nav.calendars', icon: CalendarDays, group: 'develop' },
	{ to: '/parameters', key: 'nav.parameters', icon: Braces, group: 'develop' },
	{ to: '/ops', key: 'nav.ops', icon: Activity, group: 'operate', keys: 'g o', bar: true },
	{ to: '/ops/t', key: 'nav.instances', icon: ListTree, group: 'operate', keys: 'g i', bar: true },
	{ to: '/ops/failures', key: 'nav.failures', icon: CircleX, group: 'operate', keys: 'g f' },
	{ to: '/ops/alerts', key: 'nav.alerts', icon: Bell, group: 'operate', keys: 'g e' },
	{ to: '/ops/baselines', key: 'nav.baselines', icon: Target, group: 'operate', keys: 'g l' },
	{ to: '/ops/queues', key: 'nav.queues', icon: Filter, group: 'operate', keys: 'g q' },
	{ to: '/ops/brokers', key: 'nav.brokers', icon: Server, group: 'operate', keys: 'g b' },
	{ to: '/ops/types', key: 'nav.types', icon: Blocks, group: 'operate', keys: 'g y' },
	{ to: '/ops/targets', key: 'nav.targets', icon: ServerCog, group: 'operate', role: 'developer' },
	{ to: '/ops/commands', key: 'nav.commands', icon: SquareTerminal, group: 'operate', keys: 'g c' },
	{ to: '/ops/system', key: 'nav.system', icon: HeartPulse, group: 'manage', keys: 'g m' },
	{ to: '/ops/audit', key: 'nav.audit', icon: ScrollText, group: 'manage', keys: 'g a', role: 'operator' },
	{ to: '/ops/peers', key: 'nav.peers', icon: KeyRound, group: 'manage', role: 'admin' },
	{ to: '/people', key: 'nav.people', icon: Users, group: 'manage', keys: 'g p', role: 'admin' },
	{ to: '/settings', key: 'nav.settings', icon: Settings, group: 'manage', keys: 'g s' },
	{ to: '/help', key: 'nav.help', icon: BookOpen, group: 'manage' },
]

/* Roles hide, they protect nothing: the server refuses. */
export const navShown = () => nav.filter(n => !n.role || can(n.role))
