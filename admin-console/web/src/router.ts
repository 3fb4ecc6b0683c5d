import { createRouter, createWebHistory } from 'vue-router'

export const router = createRouter({
	history: createWebHistory('/ui/'),
	routes: [
		{ path: '/', component: () => import('./pages/Home.vue'), meta: { key: 'nav.home' } },
		{ path: '/w', component: () => import('./pages/Workflows.vue'), meta: { key: 'nav.workflows' } },
		{ path: '/w/:project/:workflow', component: () => import('./pages/Workflow.vue'), meta: { key: 'nav.workflows' } },
		{
			path: '/w/:project/:workflow/edit',
			component: () => import('./pages/Editor.vue'),
			meta: { key: 'nav.workflows', narrow: true },
		},
		{
			path: '/w/:project/:workflow/grid',
			component: () => import('./pages/Grid.vue'),
			meta: { key: 'nav.workflows', narrow: true },
		},
		{ path: '/new', component: () => import('./pages/Editor.vue'), meta: { key: 'nav.workflows', narrow: true } },
		{ path: '/r', component: () => import('./pages/Runs.vue'), meta: { key: 'nav.runs' } },
		{
			path: '/r/:project/:workflow/:label',
			component: () => import('./pages/Run.vue'),
			meta: { key: 'nav.runs', narrow: true },
		},
		{ path: '/b', component: () => import('./pages/Backfills.vue'), meta: { key: 'nav.backfills' } },
		{ path: '/b/new', component: () => import('./pages/BackfillNew.vue'), meta: { key: 'nav.backfills' } },
		{ path: '/b/:id', component: () => import('./pages/Backfill.vue'), meta: { key: 'nav.backfills' } },
		{ path: '/l', component: () => import('./pages/Lineage.vue'), meta: { key: 'nav.lineage', narrow: true } },
		{ path: '/calendars', component: () => import('./pages/Calendars.vue'), meta: { key: 'nav.calendars' } },
		{ path: '/parameters', component: () => import('./pages/Parameters.vue'), meta: { key: 'nav.parameters' } },
		{ path: '/ops/targets', component: () => import('./pages/Targets.vue'), meta: { key: 'nav.targets' } },
		{
			path: '/p/:project/:workflow/:task/:label',
			component: () => import('./pages/Link.vue'),
			meta: { key: 'nav.instances' },
		},
		{ path: '/ops', component: () => import('./pages/Situation.vue'), meta: { key: 'nav.ops' } },
		{ path: '/ops/t', component: () => import('./pages/Instances.vue'), meta: { key: 'nav.instances' } },
		{ path: '/ops/failures', component: () => import('./pages/Failures.vue'), meta: { key: 'nav.failures' } },
		{ path: '/ops/baselines', component: () => import('./pages/Baselines.vue'), meta: { key: 'nav.baselines' } },
		{ path: '/ops/alerts', component: () => import('./pages/Alerts.vue'), meta: { key: 'nav.alerts' } },
		{ path: '/ops/queues', component: () => import('./pages/Queues.vue'), meta: { key: 'nav.queues' } },
		{ path: '/ops/brokers', component: () => import('./pages/Brokers.vue'), meta: { key: 'nav.brokers' } },
		{
			path: '/ops/types/:type?',
			component: () => import('./pages/Types.vue'),
			meta: { key: 'nav.types', still: true },
		},
		{ path: '/ops/system', component: () => import('./pages/System.vue'), meta: { key: 'nav.system' } },
		{ path: '/ops/commands', component: () => import('./pages/Commands.vue'), meta: { key: 'nav.commands' } },
		{ path: '/ops/commands/:id', component: () => import('./pages/Command.vue'), meta: { key: 'nav.commands' } },
		{ path: '/ops/peers', component: () => import('./pages/Peers.vue'), meta: { key: 'nav.peers' } },
		{ path: '/ops/audit', component: () => import('./pages/Audit.vue'), meta: { key: 'nav.audit' } },
		{ path: '/people', component: () => import('./pages/People.vue'), meta: { key: 'nav.people' } },
		{ path: '/settings', component: () => import('./pages/Settings.vue'), meta: { key: 'nav.settings' } },
		{ path: '/help', component: () => import('./pages/Help.vue'), meta: { key: 'nav.help', narrow: true } },
		{ path: '/:rest(.*)*', component: () => import('./pages/Lost.vue'), meta: { key: 'lost.title' } },
	],
})

/* After an upgrade the pieces of the old page are gone: load the new one, once. */
router.onError((e, to) => {
	if (!/import|module|fetch/i.test(String(e)) || sessionStorage.getItem('reloaded') === to.fullPath) return
	sessionStorage.setItem('reloaded', to.fullPath)
	location.assign('/ui' + to.fullPath)
})

declare module 'vue-router' {
	interface RouteMeta {
		key: import('./i18n').Key
		narrow?: boolean
		still?: boolean
	}
}
