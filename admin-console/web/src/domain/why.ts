/* Why an instance waits, in the reader's language: the server's code and its arguments fill the
 * line (schema/tbl/why.def); a code that is not known here shows the server's own words. */
import type { Why } from '@/api/client'
import { fill, t } from '@/i18n'
import { w } from '@/words/why'
import { kindOf, states } from './states'
import { moment } from './time'

export function whyLine(why: Pick<Why, 'code' | 'args' | 'line'>, zone: string): string {
	const code = why.code ?? '',
		text = w.of('why', code)
	if (!code || text === code || !why.args) return why.line
	const args = Object.fromEntries(
		Object.entries(why.args).map(([k, v]) => [
			k,
			k === 'state' && states.includes(String(v))
				? t(`state.${kindOf({ state: String(v) })}`)
				: typeof v === 'string' && /^\d{4}-\d\d-\d\dT/.test(v)
					? moment(v, zone)
					: v,
		]),
	)
	const line = fill(text, args)
	return /\{\w+\}/.test(line) ? why.line : line
}
