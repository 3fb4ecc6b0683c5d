/* What a person sends: held while it is under way, refused in the server's own words with its remedy. */
import { reactive } from 'vue'
import { ApiError } from '@/api/client'
import { toast } from './toast'

export function said(e: unknown): string {
	if (!(e instanceof ApiError)) return e instanceof Error ? e.message : String(e)
	return [...new Set([e.message, ...(e.details?.errors ?? []).map(x => x.message), e.hint])].filter(Boolean).join(' · ')
}

/* A command is answered as taken; one that is over already may have failed all the same. */
function taken<T>(got: T): T {
	const c = got as { command?: unknown; state?: unknown; error?: string | null } | null | undefined
	if (c && c.command !== undefined && c.state === 'failed') throw new ApiError(409, 'CONFLICT', c.error || 'failed')
	return got
}

/* One thing at a time: `go` does nothing while the last is under way. */
export function useSend() {
	const s = reactive({ busy: false, error: '', go })
	async function go<T>(work: () => Promise<T>, then?: (got: T) => void): Promise<boolean> {
		if (s.busy) return false
		s.busy = true
		s.error = ''
		try {
			const got = taken(await work())
			then?.(got)
			return true
		} catch (e) {
			s.error = said(e)
			return false
		} finally {
			s.busy = false
		}
	}
	return s
}

/* What has no place of its own for a refusal: a toast says it. */
export async function attempt<T>(work: () => Promise<T>, then?: (got: T) => void): Promise<boolean> {
	try {
		const got = taken(await work())
		then?.(got)
		return true
	} catch (e) {
		toast(said(e), { bad: true })
		return false
	}
}
