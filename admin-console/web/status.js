'use strict'
// The status page: polls the API, listens to events, shows. Everything a server said goes
// through textContent.
const $ = id => document.getElementById(id)
const TONE = {
	Succ: 'good',
	Running: 'busy',
	DependenceFinish: 'busy',
	Failed: 'bad',
	StopSchedule: 'bad',
	Killed: 'bad',
	Hanged: 'bad',
	WaitKill: 'warn',
	Killing: 'warn',
	Skipped: 'dim',
	Ready: 'dim',
}
let csrf = null,
	stream = null,
	timer = null

async function api(method, path, body) {
	const headers = {}
	if (body) headers['Content-Type'] = 'application/json'
	if (csrf && method !== 'GET') headers['X-CSRF-Token'] = csrf
	const r = await fetch('/api/v1' + path, { method, headers, body: body && JSON.stringify(body) })
	const answer = await r.json().catch(() => ({}))
	if (!r.ok && !answer.status)
		throw Object.assign(new Error(answer.error?.message || r.statusText), { status: r.status })
	return answer
}

function row(cells) {
	const tr = document.createElement('tr')
	for (const [text, tone] of cells) {
		const td = document.createElement('td')
		td.textContent = text ?? ''
		if (tone) td.className = tone
		tr.append(td)
	}
	return tr
}

function fill(id, rows, empty) {
	$(id).replaceChildren(...(rows.length ? rows : [row([[empty, 'dim']])]))
}

const when = t => (t ? t.replace('T', ' ').replace(/(\.\d+)?Z$/, '') : '')
const permille = v => (v === undefined || v === null ? '' : Math.round(v / 10) + ' %')

function problem(text) {
	$('problem').hidden = !text
	$('problem').textContent = text || ''
}

function pill(text, tone) {
	$('health').textContent = text
	$('health').className = 'pill ' + tone
}

async function part(what, show) {
	try {
		show(await what)
	} catch (e) {
		if (e.status === 401) throw e
		return e.message
	}
	return null
}

async function refresh() {
	clearTimeout(timer)
	try {
		const troubles = await Promise.all([
			part(api('GET', '/health'), h => pill(h.status, { ok: 'good', degraded: 'warn' }[h.status] || 'bad')),
			part(Promise.all([api('GET', '/server'), api('GET', '/statistics?days=1')]), ([live, ended]) => {
				const counts = { ...live.instances, ...ended.total.states, Failed: live.instances.Failed ?? 0 }
				$('states').replaceChildren(
					...Object.entries(counts).map(([name, n]) => {
						const tile = document.createElement('div'),
							b = document.createElement('b'),
							label = document.createElement('span')
						tile.className = 'tile'
						b.className = n ? TONE[name] || '' : 'dim'
						b.textContent = n.toLocaleString('en')
						label.textContent = name
						tile.append(b, label)
						return tile
					}),
				)
			}),
			part(api('GET', '/instances?sort=change&order=desc&limit=20'), l =>
				fill(
					'runs',
					l.items.map(i =>
						row([
							[i.task ?? i.task_id],
							[when(i.run_date)],
							[i.state, TONE[i.state]],
							[i.attempt],
							[i.broker],
							[when(i.ended)],
						]),
					),
					'No instances yet',
				),
			),
			part(api('GET', '/brokers'), l =>
				fill(
					'brokers',
					l.brokers.map(b =>
						row([
							[b.name],
							[
								!b.online ? 'offline' : b.drained ? 'drained' : b.accepts ? 'accepts' : b.why_not || 'full',
								b.online ? 'good' : 'bad',
							],
							[b.running + ' / ' + b.slots],
							[permille(b.cpu_permille)],
							[permille(b.memory_permille)],
							[b.types.map(t => t.type + ' ' + t.state).join(', ')],
						]),
					),
					'No broker has registered',
				),
			),
			part(api('GET', '/commands?limit=10'), l =>
				fill(
					'commands',
					l.items.map(k =>
						row([
							[k.command],
							[k.kind],
							[k.actor],
							[k.state],
							[k.done + ' / ' + k.total + (k.failed ? ', ' + k.failed + ' failed' : '')],
							[when(k.created)],
						]),
					),
					'No commands yet',
				),
			),
			part(api('GET', '/server'), s => {
				$('server').textContent =
					'Sirdar ' + s.version + ', epoch ' + s.epoch + ', ' + s.tasks + ' tasks, since ' + when(s.started) + ' UTC'
			}),
		])
		const first = troubles.find(Boolean)
		problem(first)
		if (first) pill('trouble', 'bad')
		timer = setTimeout(refresh, 5000)
	} catch (e) {
		outside()
	}
}

function listen() {
	let soon = null
	stream?.close()
	stream = new EventSource('/api/v1/events')
	stream.addEventListener('instance', () => {
		soon ??= setTimeout(() => {
			soon = null
			refresh()
		}, 700)
	})
}

function outside() {
	clearTimeout(timer)
	stream?.close()
	csrf = null
	$('main').hidden = true
	$('logout').hidden = true
	$('who').textContent = ''
	$('login').hidden = false
	pill('log in', 'dim')
	problem('')
}

function inside(session) {
	csrf = session.csrf
	$('login').hidden = true
	$('main').hidden = false
	$('logout').hidden = false
	$('who').textContent = session.user
	refresh()
	listen()
}

$('login').addEventListener('submit', async e => {
	e.preventDefault()
	try {
		inside(await api('POST', '/login', { user: $('user').value, password: $('password').value }))
	} catch (err) {
		problem(err.message)
	}
	$('password').value = ''
})
$('logout').addEventListener('click', async () => {
	await api('POST', '/logout').catch(() => {})
	outside()
})
api('GET', '/session').then(inside, outside)
