import { dictionary, type Same } from './dictionary'

export const en = {
	install: 'Install as an app',
	'install.done': 'Installed as an app.',
	'install.how':
		'If the browser shows no button, use its menu: “Install” or “Add to home screen”. It needs https, or this machine.',
	title: 'This device',
	voice: 'Notifications of alerts',
	'voice.critical': 'Critical only',
	'voice.denied': 'The browser blocks notifications from this site. Allow them in its address bar first.',
	'voice.none': 'This browser shows no notifications. On an iPhone the app must be on the home screen first.',
	'voice.off': 'Off',
	'voice.text':
		'Shown while Sirdar is open in a tab or as an app, also in the background; Sirdar then looks for alerts once a minute. For alerts while it is closed, see below.',
	'voice.warning': 'Warnings too',
}
export const zh: Same<typeof en> = {
	install: '安装为应用',
	'install.done': '正以应用方式运行。',
	'install.how': '浏览器没有提供按钮时：在其菜单中选择“安装”或“添加到主屏幕”。需要 https，或在本机访问。',
	title: '此设备',
	voice: '告警通知',
	'voice.critical': '严重告警',
	'voice.denied': '浏览器不允许此处发送通知。请先在地址栏旁允许。',
	'voice.none': '此浏览器不显示通知；在 iPhone 上需先添加到主屏幕。',
	'voice.off': '关闭',
	'voice.text': '在标签页或应用打开时显示，后台也可以；此时每分钟查询一次告警。完全关闭后能否收到：见下。',
	'voice.warning': '包括警告',
}
export const w = dictionary(en, zh)
