import { defineConfig } from 'vitest/config'

export default defineConfig({
	resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
	// No verdict depends on the machine's speed: the limit ends what hangs.
	test: {
		include: ['tests/**/*.test.ts'],
		environment: 'node',
		reporters: ['default'],
		testTimeout: 300_000,
		hookTimeout: 300_000,
	},
})
