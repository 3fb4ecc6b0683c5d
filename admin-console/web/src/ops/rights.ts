/* What a program or a group may besides its role, as a form holds it. */
export interface RightsForm {
	backfill: boolean
	force: boolean
	unsafe: boolean
}
export const rights = (f: RightsForm) => [
	...(f.backfill ? ['backfill' as const] : []),
	...(f.force ? ['force-success' as const] : []),
	...(f.unsafe ? ['unsafe' as const] : []),
]
export const rightsOf = (of: readonly string[]): RightsForm => ({
	backfill: of.includes('backfill'),
	force: of.includes('force-success'),
	unsafe: of.includes('unsafe'),
})
/* A list as one writes it: commas, blanks or lines between. */
export const words = (s: string) => s.split(/[\s,]+/).filter(Boolean)
