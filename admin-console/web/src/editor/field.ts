/* One key of a task as its field (Fld.vue) takes it, or of what all tasks share where the task is '': what is written,
 * what holds else, what the server says of it, and where a change goes. `a.b` is key b within a. */
import { computed } from 'vue'
import { words } from './diff'
import { theEditor } from './editor'
import { effective } from './links'
import type { Value } from './parts'

const within = (v: Value | undefined, sub: string | undefined): Value | undefined =>
	sub === undefined ? v : v && typeof v === 'object' && !Array.isArray(v) ? v[sub] : undefined

export function fieldsOf(name: () => string) {
	const ed = theEditor()
	const off = computed(() => !ed.mayEdit.value)
	const task = ed.see(d => (name() ? d.task(name()) : d.top))
	const get = (path: string): string | undefined => {
		const [key, sub] = path.split('.') as [string, string?]
		const v = within(task.value?.json[key], sub)
		return v === undefined ? undefined : words(v)
	}
	const inherited = (path: string): string => {
		void ed.tick.value
		const [key, sub] = path.split('.') as [string, string?]
		return name() ? words(within(effective(ed.doc(), undefined, key), sub)) : ''
	}
	const put = (path: string, v: string | undefined) => ed.set(name(), path.split('.'), v)
	const fault = (path: string) => ed.faultOf(name(), path)
	const field = (path: string) => ({
		modelValue: get(path),
		inherited: inherited(path),
		fault: fault(path),
		off: off.value,
		'onUpdate:modelValue': (v: string | undefined) => put(path, v),
	})
	return { task, off, get, inherited, put, fault, field }
}
