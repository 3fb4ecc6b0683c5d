// With SHOTS only: what developers see, for README and manual.
import { portrait, run, shots } from '../kit.mjs'
import { has } from '../pages.mjs'

const phone = { width: 390, height: 844 }
const looks = {
	'home-dark': ['/', { theme: 'dark', ready: '.tbl' }],
	'home-zh': ['/', { lang: 'zh', ready: '.tbl' }],
	'workflows-dark': ['/w', { theme: 'dark', ready: '.tbl' }],
	'run-dark-zh': [run, { theme: 'dark', lang: 'zh', ready: '.log .ln' }],
	'run-phone': [run + '?task=retail/trade_daily/dwd_pay_refund_di', { ...phone, ready: '.log .ln' }],
	'run-gantt-dark': [run + '?view=gantt', { theme: 'dark', ready: '.gbar' }],
	'editor-dark-zh': [
		'/w/retail/trade_daily/edit?task=dwd_pay_refund_di',
		{ theme: 'dark', lang: 'zh', ready: 'canvas.graph' },
	],
	'editor-list': ['/w/retail/trade_daily/edit?view=list', { ready: '.erow' }],
	'editor-yaml-dark': ['/w/retail/trade_daily/edit?view=yaml', { theme: 'dark', ready: '.eyaml' }],
	situation: ['/ops', { theme: 'dark', lang: 'zh' }],
	'situation-light': ['/ops', {}],
	instances: ['/ops/t', { ready: '.vrow' }],
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
