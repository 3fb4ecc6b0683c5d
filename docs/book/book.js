/* The manual: theme and language of the console (they share one browser), a search in a small index. */
;(function () {
	var kept = {}
	try {
		kept = JSON.parse(localStorage.getItem('sirdar') || '{}') || {}
	} catch (e) {
		kept = {}
	}
	var root = document.documentElement
	var os = matchMedia('(prefers-color-scheme: dark)').matches
	root.dataset.theme = kept.theme === 'dark' || ((kept.theme || 'system') === 'system' && os) ? 'dark' : 'light'

	/* Words between blanks; Chinese as it is written. A section is found if it has all of them. */
	function found(index, text) {
		var words = text.toLowerCase().split(/[\s，。、]+/).filter(Boolean)
		if (!words.length) return []
		return index
			.filter(function (s) {
				return words.every(function (w) {
					return s[3].indexOf(w) >= 0
				})
			})
			.sort(function (a, b) {
				return +(b[1].toLowerCase().indexOf(words[0]) >= 0) - +(a[1].toLowerCase().indexOf(words[0]) >= 0)
			})
			.slice(0, 12)
	}

	function show(list, hits, none) {
		list.textContent = ''
		hits.forEach(function (s) {
			var line = document.createElement('li'),
				link = document.createElement('a')
			link.href = list.dataset.base + s[2]
			link.textContent = s[0] === s[1] ? s[0] : s[0] + ' › ' + s[1]
			line.appendChild(link)
			list.appendChild(line)
		})
		if (!hits.length) {
			var nothing = document.createElement('li')
			nothing.textContent = none
			list.appendChild(nothing)
		}
	}

	function search(input) {
		var list = input.nextElementSibling,
			index = null
		list.dataset.base = input.dataset.index.replace(/search\.json$/, '')
		function look() {
			list.hidden = !input.value.trim()
			if (index) show(list, found(index, input.value), input.dataset.none)
		}
		input.addEventListener('focus', function () {
			if (index) return
			fetch(input.dataset.index)
				.then(function (r) {
					return r.json()
				})
				.then(function (got) {
					index = got
					look()
				})
		})
		input.addEventListener('input', look)
		document.addEventListener('keydown', function (e) {
			if (e.key === '/' && document.activeElement !== input) {
				e.preventDefault()
				input.focus()
			}
			if (e.key === 'Escape') list.hidden = true
		})
	}

	document.addEventListener('DOMContentLoaded', function () {
		if (document.body.hasAttribute('data-choose')) {
			var zh = (kept.lang || navigator.language || '').slice(0, 2) === 'zh'
			location.replace((zh ? 'zh' : 'en') + '/index.html')
			return
		}
		search(document.querySelector('input[type=search]'))
		var other = document.querySelector('.other')
		addEventListener('hashchange', same)
		function same() {
			other.hash = location.hash
		}
		same()
	})
})()
