/* The manual's pages in this language, one piece that is fetched when it is read. */
export const pages = import.meta.glob<string>('../../../../docs/book/en/*.md', {
	query: '?raw',
	import: 'default',
	eager: true,
})
