// With SHOTS only: what operators see, for README and manual.
import { portrait, shots } from '../kit.mjs'
import { has } from '../pages.mjs'

const phone = { width: 390, height: 844 }
const looks = {
	'instances-dark-zh': ['/ops/t?q=state:trouble', { theme: 'dark', lang: 'zh', ready: '.list-row, .empty' }],
	'instances-phone-dark-zh': ['/ops/t', { ...phone, theme: 'dark', lang: 'zh', ready: '.list-row' }],
	queues: ['/ops/queues', {}],
	brokers: ['/ops/brokers', {}],
	types: ['/ops/types/shell', {}],
	targets: ['/ops/targets', {}],
	nodes: ['/ops/nodes', {}],
	alerts: ['/ops/alerts', {}],
	baselines: ['/ops/baselines', {}],
	commands: ['/ops/commands', { theme: 'dark' }],
	health: ['/ops/health', {}],
	'settings-dark-zh': ['/settings', { theme: 'dark', lang: 'zh' }],
	help: ['/help', {}],
}

export default !shots
	? {}
	: {
			'pictures of what operators see': async () => {
				for (const [name, [path, look]] of Object.entries(looks)) if (has(path)) await portrait(name, path, look)
			},
		}
