import { dictionary, type Same } from './dictionary'

export const en = {
	title: 'Your password, once more',
	why: 'What lets others in changes only for somebody who has shown the password within ten minutes.',
	password: 'Password',
	go: 'Continue',
	no: 'Cancel',
}
export const zh: Same<typeof en> = {
	title: '请再次输入密码',
	why: '改动他人的登录凭据之前，须在十分钟内出示过密码。',
	password: '密码',
	go: '继续',
	no: '取消',
}
export const w = dictionary(en, zh)
