/* The one event stream: opened while somebody looks, resumed where it ended, coalesced to a
 * batch each TICK. Runs in the shared worker, or in the tab where there is none. */
import type { CommandNews, FromWorker, Status } from './protocol'
import { Batch, type Change } from './reducer'

const TICK = 60
const RETRY_MIN = 500
const RETRY_MAX = 15_000
const LINGER = 20_000

export class Source {
	private stream?: EventSource
	private batch = new Batch()
	private timer?: ReturnType<typeof setTimeout>
	private retry?: ReturnType<typeof setTimeout>
	private linger?: ReturnType<typeof setTimeout>
	private wait = RETRY_MIN
	private wanted = false
	status: Status = 'idle'
	since = Date.now()

	constructor(private tell: (m: FromWorker) => void) {}

	get number() {
		return this.batch.last.toString()
	}

	/* Somebody looks, or nobody: then the stream ends after a while. */
	want(wanted: boolean) {
		clearTimeout(this.linger)
		if (wanted) {
			this.wanted = true
			if (!this.stream && !this.retry) this.open()
		} else {
			this.linger = setTimeout(() => {
				this.wanted = false
				this.close('idle')
			}, LINGER)
		}
	}

	stop() {
		this.wanted = false
		this.close('out')
		this.batch = new Batch()
	}

	private set(status: Status) {
		if (this.status === status) return
		this.status = status
		this.since = Date.now()
		this.tell({ say: 'status', status, since: this.since })
	}

	private close(status: Status) {
		clearTimeout(this.retry)
		this.retry = undefined
		this.stream?.close()
		this.stream = undefined
		this.set(status)
	}

	private open() {
		this.retry = undefined
		if (this.status !== 'lost') this.set('connecting')
		const from = this.batch.last > 0n ? `?from=${this.batch.last}` : ''
		const stream = new EventSource('/api/v1/events' + from)
		this.stream = stream
		const fresh = this.batch.last === 0n
		stream.onopen = () => {
			this.wait = RETRY_MIN
			if (this.status === 'lost' && fresh) this.tell({ say: 'reset', number: this.number })
			this.set('live')
		}
		stream.addEventListener('instance', e => this.take(JSON.parse((e as MessageEvent<string>).data) as Change))
		stream.addEventListener('command', e =>
			this.tell({ say: 'commands', commands: [JSON.parse((e as MessageEvent<string>).data) as CommandNews] }),
		)
		stream.addEventListener('gap', () => this.tell({ say: 'reset', number: this.number }))
		stream.addEventListener('down', () => this.set('down'))
		stream.addEventListener('up', () => {
			this.set('live')
			this.tell({ say: 'reset', number: this.number })
		})
		/* Not left to the browser: it would give up at an answer that is no stream. */
		stream.onerror = () => {
			stream.close()
			if (this.stream !== stream) return
			this.stream = undefined
			this.set('lost')
			if (!this.wanted) return
			this.retry = setTimeout(() => this.open(), this.wait)
			this.wait = Math.min(this.wait * 2, RETRY_MAX)
		}
	}

	private take(c: Change) {
		if (!this.batch.add(c) || this.timer) return
		this.timer = setTimeout(() => {
			this.timer = undefined
			const changes = this.batch.take()
			if (changes.length) this.tell({ say: 'changes', changes, number: this.number })
		}, TICK)
	}
}
