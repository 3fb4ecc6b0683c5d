/* What one has set follows from browser to browser: read at sign-in, what is newer applied, what
 * changes here written a moment later, over the version it was made from. While the server is away
 * this browser goes on with what it has, and tells later. What belongs to a device stays on it:
 * notifications, the app, the rail, pages visited, drafts and where cards stand. */
import { reactive, watch } from 'vue'
import { api, ApiError } from '@/api/client'
import { differs, first, merge, note, plain, shown, type Followed, type Kept } from '@/domain/kept'
import { prefs, usual } from './prefs'
import { session } from './session'

const SWITCH = 'sirdar-follow'
const STATE = 'sirdar-kept'
const PAUSE = 1500
const AGAIN = 30_000
const LOOK = 60_000
const TRIES = 5

interface State {
	user: string
	version: number
	kept: Kept
}

function read(key: string): string | null {
	try {
		return localStorage.getItem(key)
	} catch {
		return null
	}
}
function write(key: string, text: string) {
	try {
		localStorage.setItem(key, text)
	} catch {
		/* a private window: for this visit only */
	}
}

/* A browser that a program drives is like new each time: there only when it is asked for. */
const wanted = () => (navigator.webdriver ? read(SWITCH) === 'on' : read(SWITCH) !== 'off')

export const follow = reactive({
	on: wanted(),
	state: 'idle' as 'idle' | 'kept' | 'away' | 'refused',
	at: 0 /* when it was last kept */,
})

const here = (): Followed => ({
	theme: prefs.theme,
	lang: prefs.lang,
	zone: prefs.zone,
	density: prefs.density,
	views: prefs.views.map(v => ({ ...v })),
	tour: prefs.tour,
})

let state: State | null = null
let before = here() /* as it was noted last */
let applying = false
let timer: ReturnType<typeof setTimeout> | undefined
let running: Promise<void> | null = null
let looked = 0

/* Another tab of this browser may have written since. */
function known(): State | null {
	try {
		const s = JSON.parse(read(STATE) ?? 'null') as State | null
		return s && typeof s.user === 'string' && typeof s.kept === 'object' && s.kept ? s : null
	} catch {
		return null
	}
}
function remember(s: State) {
	state = s
	write(STATE, JSON.stringify(s))
}

function set(now: Partial<Followed>) {
	applying = true
	for (const key of plain)
		if (now[key] !== undefined && now[key] !== prefs[key]) Object.assign(prefs, { [key]: now[key] })
	if (now.views && JSON.stringify(now.views) !== JSON.stringify(prefs.views)) prefs.views = now.views
	applying = false
	before = here()
}

/* What somebody else has set in this browser is not his. */
function begun(user: string): State {
	const was = known()
	if (was?.user === user) return was
	if (was) set({ ...usual, views: [] })
	return { user, version: 0, kept: was ? {} : first(here(), usual) }
}

async function exchange(user: string) {
	for (let n = 0; n < TRIES; n++) {
		const theirs = await api.preferences()
		if (session.user !== user || !follow.on) return
		const mine = state!.kept
		const both = merge(mine, theirs.preferences)
		remember({ user, version: theirs.version, kept: both })
		set(shown(both))
		if (!differs(both, theirs.preferences)) return
		try {
			const now = await api.preferencesSet(both, theirs.version)
			remember({ user, version: now.version, kept: state!.kept })
			if (state!.kept === both) return
		} catch (e) {
			if (!(e instanceof ApiError) || e.status !== 412) throw e
			/* another browser wrote meanwhile: merged with what it wrote */
		}
	}
	later(AGAIN)
}

async function sync() {
	if (running || !follow.on || session.state !== 'in' || !state) return
	looked = Date.now()
	running = exchange(session.user)
	try {
		await running
		follow.state = 'kept'
		follow.at = Date.now()
	} catch (e) {
		const said = e instanceof ApiError ? e.status : 0
		follow.state = said >= 400 && said < 500 && said !== 429 ? 'refused' : 'away'
		if (follow.state === 'away') later(AGAIN)
	} finally {
		running = null
	}
}

function later(ms: number) {
	clearTimeout(timer)
	timer = setTimeout(() => void sync(), ms)
}

function start(user: string) {
	remember(begun(user))
	before = here()
	void sync()
}

export function setFollow(on: boolean) {
	follow.on = on
	write(SWITCH, on ? 'on' : 'off')
	clearTimeout(timer)
	if (on && session.state === 'in') start(session.user)
}

export function begin() {
	watch(
		() => (session.state === 'in' && follow.on ? session.user : ''),
		user => {
			clearTimeout(timer)
			if (user) start(user)
		},
		{ immediate: true },
	)
	watch(
		here,
		now => {
			if (applying || !follow.on || !state || session.state !== 'in') return
			const was = known()
			const base = was?.user === state.user ? was : state
			const kept = note(base.kept, before, now, Date.now())
			before = now
			if (kept === base.kept) return
			remember({ ...base, kept })
			later(PAUSE)
		},
		{ deep: true, flush: 'sync' },
	)
	addEventListener('online', () => void sync())
	document.addEventListener('visibilitychange', () => {
		if (document.visibilityState === 'visible' && Date.now() - looked > LOOK) void sync()
	})
}
