/* What a person has set for themselves: kept in the browser, told to the document. */
import { computed, reactive, watch } from 'vue'
import { knownZone } from '@/domain/time'

export type Theme = 'light' | 'dark' | 'system'
export type Lang = 'en' | 'zh'
export type Density = 'compact' | 'standard' | 'comfortable'

interface Prefs {
	theme: Theme
	lang: Lang
	zone: string
	density: Density
	recent: string[]
	views: { name: string; q: string }[]
	rail: boolean
	/* They have had the tour, or wanted none. */
	tour: boolean
}

const here = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

function read(): Partial<Prefs> {
	try {
		return JSON.parse(localStorage.getItem('sirdar') ?? '{}') ?? {}
	} catch {
		return {}
	}
}

/* Of who has set nothing yet. */
export const usual = {
	theme: 'system' as Theme,
	lang: (document.documentElement.dataset.lang === 'zh' ? 'zh' : 'en') as Lang,
	zone: here,
	density: 'standard' as Density,
	views: [] as { name: string; q: string }[],
	tour: false,
}

const kept = read()

export const prefs = reactive<Prefs>({
	theme: kept.theme ?? usual.theme,
	lang: kept.lang ?? usual.lang,
	zone: kept.zone && knownZone(kept.zone) ? kept.zone : here,
	density: kept.density ?? usual.density,
	recent: Array.isArray(kept.recent) ? kept.recent.slice(0, 8) : [],
	views: Array.isArray(kept.views) ? kept.views.slice(0, 20) : [],
	rail: kept.rail ?? true,
	tour: kept.tour === true,
})

const system = matchMedia('(prefers-color-scheme: dark)')
const os = reactive({ dark: system.matches })
system.addEventListener('change', e => {
	os.dark = e.matches
})

export const dark = computed(() => (prefs.theme === 'system' ? os.dark : prefs.theme === 'dark'))
export const zone = computed(() => prefs.zone)

watch(
	[dark, () => prefs.lang, () => prefs.density],
	() => {
		const root = document.documentElement
		root.dataset.theme = dark.value ? 'dark' : 'light'
		root.dataset.lang = prefs.lang
		root.lang = prefs.lang === 'zh' ? 'zh-CN' : 'en'
		if (prefs.density === 'standard') delete root.dataset.density
		else root.dataset.density = prefs.density
	},
	{ immediate: true, flush: 'sync' },
)

watch(
	prefs,
	() => {
		try {
			localStorage.setItem('sirdar', JSON.stringify(prefs))
		} catch {
			/* a private window: for this visit only */
		}
	},
	{ deep: true },
)

/* Another tab changed them. */
addEventListener('storage', e => {
	if (e.key === 'sirdar') Object.assign(prefs, read())
})

export function visited(workflow: string) {
	prefs.recent = [workflow, ...prefs.recent.filter(w => w !== workflow)].slice(0, 8)
}
