/* What is known of a task type's versions, put together: registered ones, what each broker runs, what is meant where. */

export interface Registered {
	version: string
	abi: number
	sha256: string
	brokers: string[]
	groups: string[]
}
export interface Known {
	type: string
	enabled: string | null
	former: string | null
	drained: boolean
	versions: Registered[]
}
export interface Runs {
	broker: string
	online: boolean
	version: string
	state: string
	text: string
	slots: number
}
export interface Machine {
	name: string
	groups?: string[]
	types: { type: string; running: number; slots: number }[]
}

export interface Column extends Partial<Registered> {
	version: string
	registered: boolean
	enabled: boolean
	former: boolean
	on: number
	running: number
	slots: number
}
export type Cell = 'on' | 'off' | 'wanted' | 'bad' | 'lost' | 'none'

/* No brokers and no groups named: everywhere. */
export const meantFor = (v: Pick<Registered, 'brokers' | 'groups'>, name: string, groups: readonly string[] = []) =>
	(!v.brokers.length && !v.groups.length) || v.brokers.includes(name) || v.groups.some(g => groups.includes(g))

const running = (machines: readonly Machine[], broker: string, type: string) =>
	machines.find(m => m.name === broker)?.types.find(t => t.type === type)?.running ?? 0

/* Registered ones in their order, then what runs without having been registered. */
export function columns(
	type: string,
	known: Known | undefined,
	runs: readonly Runs[],
	machines: readonly Machine[],
): Column[] {
	const names = [...(known?.versions ?? []).map(v => v.version)]
	for (const r of runs) if (r.version && !names.includes(r.version)) names.push(r.version)
	return names.map(version => {
		const mine = runs.filter(r => r.version === version && r.online)
		return {
			...known?.versions.find(v => v.version === version),
			version,
			registered: !!known?.versions.some(v => v.version === version),
			enabled: known?.enabled === version,
			former: known?.former === version && known?.enabled !== version,
			on: mine.length,
			slots: mine.reduce((a, r) => a + r.slots, 0),
			running: mine.reduce((a, r) => a + running(machines, r.broker, type), 0),
		}
	})
}

/* A broker against a version: what it runs, what it will run, what it refuses. */
export function cell(c: Column, r: Runs, m: Machine | undefined): Cell {
	if (r.version === c.version) return !r.online ? 'lost' : r.state === 'ready' ? 'on' : 'bad'
	if (c.enabled && r.online && meantFor({ brokers: c.brokers ?? [], groups: c.groups ?? [] }, r.broker, m?.groups))
		return 'wanted'
	return 'none'
}

/* The state of a type in one word, the worst first. */
export function standing(
	known: Known | undefined,
	runs: readonly Runs[],
): 'quarantined' | 'broken' | 'draining' | 'ready' | 'nowhere' {
	const here = runs.filter(r => r.online)
	if (here.some(r => r.state === 'quarantined')) return 'quarantined'
	if (here.some(r => r.state !== 'ready' && r.state !== 'stopped')) return 'broken'
	if (known?.drained) return 'draining'
	return here.length ? 'ready' : 'nowhere'
}

/* TYPE-VERSION.so says both; TYPE.so only the type. */
export function fromFile(name: string): { type: string; version: string } | null {
	const found = /^([A-Za-z][\w.]*?)(?:-([\w.+~-]+))?\.so$/.exec(name.replace(/^.*[\\/]/, ''))
	return found ? { type: found[1]!, version: found[2] ?? '' } : null
}

/* How a value stands in a workflow: plain where YAML reads it back as the same text. */
export function yaml(v: unknown, indent = ''): string {
	if (Array.isArray(v)) return v.map(x => `\n${indent}- ${yaml(x, indent + '  ')}`).join('') || ' []'
	if (typeof v === 'object' && v)
		return (
			Object.entries(v)
				.map(([k, x]) => `\n${indent}${k}:${sep(x)}${yaml(x, indent + '  ')}`)
				.join('') || ' {}'
		)
	const s = String(v)
	if (s.includes('\n'))
		return (
			'|\n' +
			s
				.replace(/\n$/, '')
				.split('\n')
				.map(l => indent + l)
				.join('\n')
		)
	return /^[\w./$\u4e00-\u9fff][^:#'"[\]{},&*!|>%@`\n]*$/.test(s) &&
		s.trim() === s &&
		!/^(true|false|yes|no|on|off|null|~)$/i.test(s) &&
		!/^[\d.+-]/.test(s)
		? s
		: /^(true|false|-?\d+(\.\d+)?)$/.test(s)
			? s
			: JSON.stringify(s)
}
const sep = (x: unknown) => (typeof x === 'object' && x ? '' : ' ')
