/* Before the first paint: the theme and the language of last time, so that nothing flashes. */
;(function () {
	var kept = {}
	try {
		kept = JSON.parse(localStorage.getItem('sirdar') || '{}') || {}
	} catch (e) {
		kept = {}
	}
	var root = document.documentElement
	var dark =
		kept.theme === 'dark' ||
		((kept.theme || 'system') === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
	root.dataset.theme = dark ? 'dark' : 'light'
	var zh = (kept.lang || navigator.language || '').slice(0, 2) === 'zh'
	root.dataset.lang = zh ? 'zh' : 'en'
	root.lang = zh ? 'zh-CN' : 'en'
	if (kept.density) root.dataset.density = kept.density
})()
