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
	expired: false,
})

function enter(s: Session) {
	setCsrf(s.csrf ?? '')
	session.user = s.user
	session.role = (roles.includes(s.role as Role) ? s.role : 'viewer') as Role
	session.expired = false
	session.state = 'in'
	live.start()
}

function leave(expired: boolean) {
	setCsrf('')
	session.expired = expired
	session.state = 'out'
	live.stop()
}

/* Several questions of one page are refused at once: the second finds nobody signed in any more. */
whenExpired(() => leave(session.expired || session.state === 'in'))

export async function begin() {
	try {
		enter(await api.session())
	} catch (e) {
		if (e instanceof ApiError && e.status !== 401) session.state = 'unreachable'
		else leave(false)
	}
}

export async function login(user: string, password: string) {
	enter(await api.login(user, password))
}

export async function logout() {
	await api.logout().catch(() => {})
	leave(false)
}

export const can = (role: Role) => roles.indexOf(session.role) >= roles.indexOf(role)
export const initials = computed(() => session.user.slice(0, 2).toUpperCase())
