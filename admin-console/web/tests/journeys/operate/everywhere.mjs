// Every page of router.ts in themes, languages and widths: nothing an accessibility checker finds, nothing wider than the window.
import { axe, heavy, is, open, page, prefer, settled, tell, trouble } from '../kit.mjs'
import { pages } from '../pages.mjs'

const themes = ['light', 'dark'],
	langs = ['en', 'zh'],
	widths = [1440, 1024, 390]

/* Each page once, all twelve looks by turns, so over the pages every pair of values. HEAVY: each page in every look. */
function visits() {
	const list = []
	pages().forEach((path, i) => {
		if (!heavy) list.push({ path, theme: themes[i % 2], lang: langs[(i >> 1) % 2], width: widths[i % 3] })
		else
			for (const width of widths)
				for (const theme of themes) for (const lang of langs) list.push({ path, theme, lang, width })
	})
	/* Alike ones together: a change of theme or language is a load of the page. */
	return list.sort((a, b) => a.width - b.width || a.theme.localeCompare(b.theme) || a.lang.localeCompare(b.lang))
}

export default {
	'every page in themes, languages and widths: nothing a checker finds': async () => {
		const list = visits(),
			pairs = new Set(list.flatMap(v => [`${v.theme} ${v.lang}`, `${v.theme} ${v.width}`, `${v.lang} ${v.width}`]))
		is(`every pair of values: ${[...pairs]}`, pairs.size === 4 + 6 + 6)
		let last = ''
		for (const { path, theme, lang, width } of list) {
			if (last !== `${theme}${lang}${width}`) {
				await page.setViewportSize({ width, height: 900 })
				await prefer({ theme, lang })
				last = `${theme}${lang}${width}`
			}
			await open(path)
			await settled()
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
			if (over > 0) trouble(`${path} ${theme} ${lang} is ${over} px too wide at ${width}`)
			await axe(`${path} ${theme} ${lang} ${width}`)
		}
		tell(`${list.length} visits`)
	},
}
