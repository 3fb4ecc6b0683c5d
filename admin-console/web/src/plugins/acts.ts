/* What an administrator does to the versions of a type: each is asked first, with what it means. */
import type { Column, Known } from '@/domain/plugins'
import { ask } from '@/ui/ask'
import { w } from '@/words/types'

export const where = (c: Column) =>
	[...(c.brokers ?? []), ...(c.groups ?? []).map(g => `${w('groups')}: ${g}`)].join(', ')

/* `known`: what is registered of the type now. `after`: look again. */
export function useActs(known: () => Known | undefined, after: () => void) {
	const now = () => known()?.enabled ?? ''
	return {
		enable(type: string, c: Column) {
			ask({
				kind: 'plugin-enable',
				args: { type, version: c.version },
				after,
				...(c.enabled
					? { title: w('end'), facts: [w('end.fact', { type, version: c.version })], verb: w('end') }
					: {
							title: w('enable.title', { type, version: c.version }),
							verb: `${w('enable')} ${c.version}`,
							facts: [
								w('enable.fact.1', { type, version: c.version }),
								...(where(c) ? [w('enable.fact.where', { where: where(c) })] : []),
								...(now() ? [w('enable.fact.2', { now: now() })] : []),
							],
						}),
			})
		},
		roll(type: string, c: Column) {
			ask({
				kind: 'plugin-rollback',
				args: { type },
				title: w('roll.title', { type, version: c.version }),
				facts: [w('roll.fact.1', { type, version: c.version, now: now() }), w('roll.fact.2')],
				verb: `${w('roll')}: ${c.version}`,
				danger: true,
				after,
			})
		},
		drain(type: string) {
			ask({
				kind: 'plugin-drain',
				args: { type },
				title: w('drain.title', { type }),
				facts: [w('drain.fact.1', { type }), w('drain.fact.2')],
				verb: `${w('drain')}: ${type}`,
				danger: true,
				after,
			})
		},
		forget(type: string, c: Column) {
			ask({
				kind: 'plugin-remove',
				args: { type, version: c.version },
				title: w('remove.title', { type, version: c.version }),
				facts: [w('remove.fact')],
				verb: `${w('remove')} ${c.version}`,
				danger: true,
				after,
			})
		},
		lift(type: string, broker: string, version: string) {
			ask({
				kind: 'plugin-release',
				args: { type, brokers: [broker] },
				title: w('lift.title', { type, broker }),
				facts: [w('lift.fact.1', { type, version: version || type }), w('lift.fact.2')],
				verb: w('lift'),
				after,
			})
		},
	}
}
export type Acts = ReturnType<typeof useActs>
