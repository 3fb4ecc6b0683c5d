/* Who is signed in. A 401 of any request ends it: the page stays where it is, behind the form. */
import { computed, reactive } from 'vue'
import { api, ApiError, setCsrf, whenExpired, type Session } from '@/api/client'
import * as live from '@/live/live'

export type Role = 'viewer' | 'developer' | 'operator' | 'admin'
export const roles: Role[] = ['viewer', 'developer', 'operator', 'admin']

export const session = reactive({
	state: 'asking' as 'asking' | 'in' | 'out' | 'unreachable',
	user: '',
	role: 'viewer' as Role,
	roles: [] as NonNullable<Session['roles']>, // what one is in each project; empty: the role, everywhere
	bound: false, // reading is bound to projects: what is the whole installation's is not there
	expired: false,
	enrol: false, // nothing else works before there is a second factor
})

const PATIENCE = 10_000 /* ms: an answer that late does not come */
const AGAIN = 3000
let again: ReturnType<typeof setTimeout> | undefined

function enter(s: Session) {
	clearTimeout(again)
	setCsrf(s.csrf ?? '')
	session.user = s.user
	session.role = (roles.includes(s.role as Role) ? s.role : 'viewer') as Role
	session.roles = s.roles ?? []
	session.bound = !!s.reads
	session.expired = false
	session.enrol = !!s.must_enrol
	session.state = 'in'
	if (!session.enrol) live.start()
}

function leave(expired: boolean) {
	setCsrf('')
	session.expired = expired
	session.state = 'out'
	live.stop()
}

/* Several questions of one page are refused at once: the second finds nobody signed in any more. */
whenExpired(() => leave(session.expired || session.state === 'in'))

async function asked(): Promise<Session> {
	const late = new AbortController()
	const timer = setTimeout(() => late.abort(), PATIENCE)
	try {
		return await api.session(late.signal)
	} finally {
		clearTimeout(timer)
	}
}

/* Until there is an answer: a page that was opened while the server was away comes to life by itself. */
export async function begin() {
	clearTimeout(again)
	try {
		enter(await asked())
	} catch (e) {
		if (e instanceof ApiError && e.status === 401) leave(false)
		else {
			session.state = 'unreachable'
			again = setTimeout(() => void begin(), AGAIN)
		}
	}
}

export async function login(user: string, password: string, code?: string) {
	enter(await api.login(user, password, code))
}

export async function logout() {
	await api.logout().catch(() => {})
	leave(false)
}

const reaches = (has: string | undefined, role: Role) => roles.indexOf((has ?? '') as Role) >= roles.indexOf(role)

/* May one do what needs this role: to what is `of` (a task, a workflow, a project), or somewhere at all? The server judges
 * each act; this only says which buttons stand there. */
export function can(role: Role, of?: string) {
	if (!reaches(session.role, role)) return false
	if (!of || !session.roles.length) return true
	const project = of.split('/')[0]
	const here = session.roles.find(r => r.project === project) ?? session.roles.find(r => r.project === null)
	return reaches(here?.role, role)
}
/* A command: whoever gave it pauses and ends it, another's wants an operator of all projects. */
export function steers(actor: string | undefined) {
	if ((actor ?? '').split('/')[0] === session.user) return can('developer')
	return (
		can('operator') &&
		(!session.roles.length || session.roles.some(r => r.project === null && reaches(r.role, 'operator')))
	)
}
export const initials = computed(() => session.user.slice(0, 2).toUpperCase())
