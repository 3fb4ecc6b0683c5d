/* Every component in every state, beside each other in both themes: `npm run dev`, /ui/catalogue.html. Not in what is built. */
import { createApp } from 'vue'
import { begin } from '@/i18n'
import { router } from '@/router'
import '@/styles/tokens.css'
import '@/styles/font.css'
import '@/styles/base.css'
import '@/styles/layout.css'
import '@/styles/buttons.css'
import '@/styles/forms.css'
import '@/styles/tables.css'
import '@/styles/badges.css'
import '@/styles/dialogs.css'
import Catalogue from './Catalogue.vue'

void begin().then(() => createApp(Catalogue).use(router).mount('#app'))
