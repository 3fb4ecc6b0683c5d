import { readFileSync, readdirSync, writeFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import vue from '@vitejs/plugin-vue'
import { defineConfig, type Plugin } from 'vite'

/* A compressed form beside every file that gains by it, for sirdar-cgi to hand out. */
function packed(): Plugin {
	let out = ''
	return {
		name: 'packed',
		apply: 'build',
		configResolved(config) { out = config.build.outDir },
		closeBundle() {
			const walk = (folder: string) => {
				for (const name of readdirSync(folder).sort()) {
					const path = join(folder, name)
					if (statSync(path).isDirectory()) { walk(path); continue }
					if (!/\.(js|css|html|svg|json|webmanifest)$/.test(name)) continue
					const plain = readFileSync(path), small = gzipSync(plain, { level: 9 })
					if (small.length < plain.length * 0.9) writeFileSync(path + '.gz', small)
				}
			}
			walk(out)
		},
	}
}

const server = process.env.SIRDAR_URL ?? 'http://127.0.0.1:7480'

export default defineConfig({
	base: '/ui/',
	plugins: [vue(), packed()],
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
		rollupOptions: { output: { chunkFileNames: (c) => `assets/${c.name.split('.')[0]}-[hash].js` } },
	},
	worker: { format: 'es' },
	/* The server takes what its own page sends. */
	server: { proxy: { '/api': { target: server, changeOrigin: true, headers: { origin: server } } } },
})
