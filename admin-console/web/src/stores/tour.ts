/* The tour through the console: at which step it is; that somebody has had it, or wants none, is kept with what they have set. */
import { computed, reactive } from 'vue'
import { prefs } from './prefs'

export const tour = reactive({ at: -1 })

/* A browser that a program drives is like new each time: there only when it is asked for. */
const wanted = () => {
	try {
		return !navigator.webdriver || localStorage.getItem('sirdar-tour') === 'on'
	} catch {
		return false
	}
}
export const offered = computed(() => !prefs.tour && tour.at < 0 && wanted())

export function begin() {
	tour.at = 0
}
export function end() {
	tour.at = -1
	prefs.tour = true
}
