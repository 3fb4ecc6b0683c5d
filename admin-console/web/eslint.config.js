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
		},
	},
	{ files: ['tests/**', 'tools/**'], rules: { 'no-console': 'off' } },
)
