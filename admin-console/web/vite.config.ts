import { readFileSync } from 'node:fs'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

const server = process.env.SIRDAR_URL ?? 'http://127.0.0.1:7480'

/* The font's licence goes where the font goes. */
const licence = {
	name: 'licence',
	generateBundle(this: { emitFile: (f: { type: 'asset'; fileName: string; source: string }) => string }) {
		const path = new URL('node_modules/@fontsource-variable/inter/LICENSE', import.meta.url)
		this.emitFile({ type: 'asset', fileName: 'assets/inter-licence.txt', source: readFileSync(path, 'utf8') })
	},
}

export default defineConfig({
	base: '/ui/',
	plugins: [vue(), licence],
	resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
	define: { __VUE_OPTIONS_API__: false, __VUE_PROD_DEVTOOLS__: false, __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: false },
	build: {
		outDir: process.env.OUT ?? '../../build/console',
		emptyOutDir: true,
		target: 'es2022',
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: false,
		manifest: 'manifest.json',
		rollupOptions: { output: { chunkFileNames: c => `assets/${c.name.split('.')[0]}-[hash].js` } },
	},
	worker: { format: 'es' },
	/* The server takes what its own page sends. */
	server: { proxy: { '/api': { target: server, changeOrigin: true, headers: { origin: server } } } },
})
