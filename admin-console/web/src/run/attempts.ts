/* The attempts of an instance, of its events. Pure. */
import type { Event } from '@/api/client'

export interface Attempt {
	attempt: number
	generation: number
	started: string
	ended: string
	/* what it came to, or is in */ to: string
	/* it failed, and the next one was due */ retried: boolean
	exit: number
	broker: string
}

const active = new Set(['Running', 'WaitKill', 'Killing', 'Hanged'])

/* Events newest first, as the server says them; so are the attempts. What happens to the instance after an attempt is
 * over is no longer that attempt's state. */
export function attemptsOf(events: readonly Event[]): Attempt[] {
	const seen = new Map<string, Attempt>()
	for (const e of [...events].reverse()) {
		/* A look that found nothing took its number back. */
		const attempt = (e.attempt ?? 0) + (e.event === 'not-yet' ? 1 : 0)
		if (!attempt) continue
		const key = `${e.generation}.${attempt}`,
			was = active.has(e.from ?? ''),
			is = active.has(e.to)
		const a = seen.get(key) ?? {
			attempt,
			generation: e.generation ?? 0,
			started: '',
			ended: '',
			to: e.to,
			retried: false,
			exit: 0,
			broker: '',
		}
		if (e.to === 'Running' && !was) {
			a.started = e.at ?? ''
			a.broker = e.broker ?? ''
			a.ended = ''
		}
		if (was && !is) {
			a.ended = e.at ?? ''
			a.exit = e.exit_code ?? 0
		}
		if (was || is) a.to = e.to
		else if (e.from === 'Failed' && e.to === 'DependenceFinish') a.retried = true
		seen.set(key, a)
	}
	return [...seen.values()].reverse()
}
