/* What may be chosen: of Field and of Seg. */
export interface Choice<T extends string = string> {
	id: T
	label: string
}

export const choices = <const T extends string>(
	ids: readonly T[],
	word: (id: T) => string = id => id,
): { id: T; label: string }[] => ids.map(id => ({ id, label: word(id) }))
