/* A workflow, or a part of it, runs once: asked for anywhere, shown in one dialog. */
import { reactive } from 'vue'

export const starting = reactive<{ of: { workflow: string; task?: string; date?: string } | null }>({ of: null })

export function start(workflow: string, task?: string, date?: string) {
	starting.of = { workflow, task, date }
}
