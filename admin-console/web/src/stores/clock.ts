/* One clock for all that counts: once a second while somebody looks, set by the server's. */
import { computed, ref } from 'vue'

const tick = ref(Date.now())
let skew = 0

function beat() {
	if (document.visibilityState === 'visible') tick.value = Date.now()
}
setInterval(beat, 1000)
document.addEventListener('visibilitychange', beat)

export const now = computed(() => tick.value + skew)
/* The server's clock and ours differ: durations of what runs are counted by its. */
export function serverNow(at: string | null | undefined) {
	const theirs = at ? Date.parse(at) : NaN
	if (Number.isFinite(theirs) && Math.abs(theirs - Date.now()) > 1500) skew = theirs - Date.now()
}
