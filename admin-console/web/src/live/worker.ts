/* The shared worker: one stream for all tabs, since a browser has six connections to a host. */
import type { FromWorker, ToWorker } from './protocol'
import { Source } from './source'

interface Tab {
	port: MessagePort
	visible: boolean
}

const tabs = new Set<Tab>()
const source = new Source(m => {
	for (const tab of tabs) if (tab.visible || m.say === 'status') tab.port.postMessage(m)
})

function look() {
	source.want([...tabs].some(t => t.visible))
}

function join(port: MessagePort) {
	const tab: Tab = { port, visible: true }
	const say = (m: FromWorker) => port.postMessage(m)
	port.onmessage = (e: MessageEvent<ToWorker>) => {
		const m = e.data
		if (m.say === 'bye') tabs.delete(tab)
		else if (m.say === 'stop') source.stop()
		else {
			tabs.add(tab)
			tab.visible = m.visible
			say({ say: 'status', status: source.status, since: source.since })
			if (m.say === 'visible' && m.visible && m.seen !== source.number) say({ say: 'reset', number: source.number })
		}
		if (m.say !== 'stop') look()
	}
	port.start()
}

;(self as unknown as { onconnect: (e: MessageEvent) => void }).onconnect = e => join(e.ports[0]!)
