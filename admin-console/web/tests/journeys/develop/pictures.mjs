// With SHOTS only: what developers see, for README and manual.
import { portrait, run, shots } from '../kit.mjs'
import { has } from '../pages.mjs'

const phone = { width: 390, height: 844 }
const looks = {
	'home-dark': ['/', { theme: 'dark', ready: '.table' }],
	'home-zh': ['/', { lang: 'zh', ready: '.table' }],
	'workflows-dark': ['/w', { theme: 'dark', ready: '.table' }],
	'run-dark-zh': [run, { theme: 'dark', lang: 'zh', ready: '.log-view .line' }],
	'run-phone': [run + '?task=retail/trade_daily/dwd_pay_refund_di', { ...phone, ready: '.log-view .line' }],
	'run-gantt-dark': [run + '?view=gantt', { theme: 'dark', ready: '.gantt-bar' }],
	'editor-dark-zh': [
		'/w/retail/trade_daily/edit?task=dwd_pay_refund_di',
		{ theme: 'dark', lang: 'zh', ready: 'canvas.graph' },
	],
	'editor-list': ['/w/retail/trade_daily/edit?view=list', { ready: '.task-row' }],
	'editor-yaml-dark': ['/w/retail/trade_daily/edit?view=yaml', { theme: 'dark', ready: '.editor-yaml' }],
	situation: ['/ops', { theme: 'dark', lang: 'zh' }],
	'situation-light': ['/ops', {}],
	instances: ['/ops/t', { ready: '.list-row' }],
	calendars: ['/calendars', {}],
	parameters: ['/parameters', {}],
	grid: ['/w/retail/trade_daily/grid', {}],
	'grid-dark': ['/w/retail/trade_daily/grid', { theme: 'dark' }],
	lineage: ['/l?of=retail/trade_daily', {}],
	backfills: ['/b', {}],
	'backfill-new': ['/b/new?workflow=retail/trade_daily', {}],
}

export default !shots
	? {}
	: {
			'pictures of what developers see': async () => {
				for (const [name, [path, look]] of Object.entries(looks)) if (has(path)) await portrait(name, path, look)
			},
		}
