/* What the plan of some workflows still brings: the first date of each, looked for today, else tomorrow; and when what is open or
 * planned today is expected to end. */
import { ops } from '@/api/ops'
import type { Instance } from '@/api/client'
import { date } from '@/domain/time'
import { now } from '@/stores/clock'
import { zone } from '@/stores/prefs'

export interface Ahead {
	name: string
	due: string | null
	ends: { task: string; at: number }[]
}

export const due = (i: Instance) => Date.parse(i.effective_due ?? i.due ?? i.run_date ?? '')

async function aheadOf(name: string, s: AbortSignal): Promise<Ahead> {
	const ends: Ahead['ends'] = []
	for (const day of [undefined, date(now.value + 86_400_000, zone.value)]) {
		const rows = (await ops.forecast(name, day, s)).instances ?? []
		for (const i of day ? [] : rows) if (i.end && i.task) ends.push({ task: i.task, at: Date.parse(i.end) })
		const first = rows
			.filter(i => i.state === 'planned' && i.due)
			.map(i => i.due!)
			.sort()[0]
		if (first) return { name, due: first, ends }
	}
	return { name, due: null, ends }
}

export const ahead = async (names: readonly string[], s: AbortSignal): Promise<Ahead[]> =>
	(await Promise.all(names.map(n => aheadOf(n, s)))).sort((a, b) => (a.due ?? '~').localeCompare(b.due ?? '~'))
