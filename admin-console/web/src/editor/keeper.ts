/* What this browser keeps of a workflow: the draft that a reload takes up again, and where its cards stand. */
import type { Place } from './parts'

export interface Kept {
	version: number
	text: string
	at: number
}

const read = <T>(key: string): T | null => {
	try {
		return JSON.parse(localStorage.getItem(key) ?? 'null') as T | null
	} catch {
		return null
	}
}
const write = (key: string, v: unknown) => {
	try {
		if (v === null) localStorage.removeItem(key)
		else localStorage.setItem(key, JSON.stringify(v))
	} catch {
		/* a private window: for this visit only */
	}
}

export function keeperOf(name: string, fresh: boolean) {
	const draftKey = `sirdar-draft:${fresh ? '' : name}`,
		placesKey = (of: string) => `sirdar-places:${of}`
	return {
		draft: () => read<Kept>(draftKey),
		keepDraft: (draft: Kept | null) => write(draftKey, draft),
		places: () => new Map(Object.entries(read<Record<string, Place>>(placesKey(name)) ?? {})),
		keepPlaces: (places: ReadonlyMap<string, Place>, of = name) =>
			write(placesKey(of), places.size ? Object.fromEntries(places) : null),
	}
}
export type Keeper = ReturnType<typeof keeperOf>
