/* How often, in words; what a task waits for, in one line. */
import type { Link } from '@/api/client'
import { t } from '@/i18n'

const DAY = 86_400
const named = new Map<number, () => string>([
	[3600, () => t('flow.hourly')],
	[DAY, () => t('flow.daily')],
	[7 * DAY, () => t('flow.weekly')],
])
export function cycle(s: number | undefined): string {
	if (!s) return t('flow.byhand')
	const name = named.get(s)
	if (name) return name()
	if (s >= 28 * DAY) return t('flow.monthly')
	if (s % 3600 === 0) return t('flow.hours', { n: s / 3600 })
	return s % 60 === 0 ? t('flow.minutes', { n: s / 60 }) : `${s} s`
}
export const waits = (l: Link) =>
	`${t('flow.depend')} ${l.depend_type}${l.window ? ' · ' + l.window : ''} · ${l.on} · ${l.strategy}`
