/* Putting workflows online and offline, and out of quarantine: asked with the server's plan first. */
import { ask } from '@/ui/ask'
import { w } from '@/words/flows'

export function change(kind: 'online' | 'offline', names: readonly string[], after: () => void) {
	ask({
		kind,
		args: { selection: { tasks: names.map(n => n + '/*') } },
		title: kind === 'online' ? w('online.title', { n: names.length }) : w('offline.title', { n: names.length }),
		facts: [kind === 'online' ? w('online.fact') : w('offline.fact'), ...names.slice(0, 8)],
		verb: w(kind),
		danger: kind === 'offline',
		dated: kind === 'online',
		after,
	})
}

/* Its plan goes on; what came due meanwhile is left to the catch-up mode. */
export function release(name: string, after: () => void) {
	ask({
		kind: 'workflow-release',
		args: { selection: { workflow: name } },
		title: w('release.title', { name }),
		facts: [w('release.fact')],
		verb: w('release'),
		after,
	})
}
