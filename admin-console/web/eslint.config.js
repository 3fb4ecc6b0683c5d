import vue from 'eslint-plugin-vue'
import ts from 'typescript-eslint'

export default ts.config(
	{ ignores: ['node_modules', 'src/api/schema.ts', 'status.js', 'public/*.js'] },
	...ts.configs.recommended,
	...vue.configs['flat/essential'],
	{ files: ['**/*.vue'], languageOptions: { parserOptions: { parser: ts.parser } } },
	{
		rules: {
			'vue/multi-word-component-names': 'off',
			'no-console': 'error',
			eqeqeq: 'error',
			'@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
			'no-restricted-properties': [
				'error',
				{ property: 'innerHTML', message: 'What a server said goes through text.' },
				{ property: 'outerHTML', message: 'What a server said goes through text.' },
			],
			'vue/no-v-html': 'error',
			'vue/no-unused-vars': ['error', { ignorePattern: '^_' }],
			'max-lines': ['error', 400],
			'max-lines-per-function': ['error', 70],
		},
	},
	/* Two dictionaries hold every word of the frame in one order; a table has no size. */
	{ files: ['src/i18n/en.ts', 'src/i18n/zh.ts'], rules: { 'max-lines': 'off' } },
	/* A describe() holds the tests of a topic: no function in the sense of the rule. */
	{ files: ['tests/**'], rules: { 'max-lines-per-function': 'off' } },
	{ files: ['tests/**', 'tools/**'], rules: { 'no-console': 'off' } },
)
