import { createApp } from 'vue'
import App from './App.vue'
import { begin as beginWords } from './i18n'
import { router } from './router'
import { beginDevice } from './stores/device'
import { begin as beginSession } from './stores/session'
import './styles/tokens.css'
import './styles/font.css'
import './styles/base.css'
import './styles/layout.css'
import './styles/buttons.css'
import './styles/forms.css'
import './styles/tables.css'
import './styles/badges.css'
import './styles/dialogs.css'

void Promise.all([beginWords(), beginSession()]).then(() => {
	createApp(App).use(router).mount('#app')
	beginDevice()
	void import('./stores/follow').then(f => f.begin())
})
