import { dictionary, type Same } from './dictionary'

export const en = {
	chain: 'What it comes down to',
}
export const zh: Same<typeof en> = {
	chain: '归根结底',
}
export const w = dictionary(en, zh)
