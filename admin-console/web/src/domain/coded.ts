/* What the server says by a code, in the reader's words. */
import { maybe } from '@/i18n'
import { w } from '@/words/coded'

/* Of a command, and what the audit calls an action. */
export const commandWord = (kind: string) => maybe('cmd.' + kind) ?? w.of('command', kind)
export const eventWord = (event: string) => w.of('event', event)
export const reasonWord = (reason: string | null | undefined) => (reason ? w.of('reason', reason) : '')
export const flagWords = (flags: readonly string[] | undefined) => (flags ?? []).map(f => w.of('flag', f)).join(', ')
export const originWord = (origin: string | null | undefined) => (origin ? w.of('origin', origin) : '')
export const rightWords = (rights: readonly string[] | undefined) =>
	(rights ?? []).map(r => w.of('right', r)).join(', ')
/* Of a task, as opposed to an instance. */
export const taskState = (state: string | undefined) => (state ? w.of('task', state) : '')
/* Of a task type on a broker. */
export const runnerState = (state: string) => w.of('runner', state)
