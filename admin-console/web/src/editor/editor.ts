/* One workflow in the editor, of five parts: the document that is open, what is selected, the version it began at
 * (with the draft and the save), what hands do to it, and what the server says of it. */
import { inject, type InjectionKey } from 'vue'
import { api, type TaskType } from '@/api/client'
import { useResource } from '@/stores/resource'
import { useCheck, useFaults } from './check'
import { useChosen } from './chosen'
import { EditorDoc } from './doc'
import { snapped, useEdits, useTasks } from './edits'
import { keeperOf } from './keeper'
import { useDocument } from './open'
import { useTrial } from './trial'
import { blank, useDraft, useSave, useVersion } from './version'

export function useEditor(name: string, fresh: boolean) {
	const keeper = keeperOf(name, fresh)
	const open = useDocument(new EditorDoc(blank(name), keeper.places()))
	const chosen = useChosen(open)
	const version = useVersion(open, keeper, name, fresh)
	const kept = useDraft(open, version, keeper)
	const found = useFaults(open)
	const types = useResource(api.types)
	const typeOf = (type: string): TaskType | undefined => types.data.value?.types.find(t => t.type === type)
	return {
		name,
		fresh,
		types,
		typeOf,
		kept,
		trial: useTrial(open),
		snapped,
		...open,
		...chosen,
		...version,
		...useSave(open, version, keeper, name, fresh),
		...useTasks(open, chosen),
		...useEdits(open, chosen),
		...found,
		...useCheck(open, chosen, version.ready, name.split('/')[1]!, found.faults),
	}
}

export type Editor = ReturnType<typeof useEditor>
export const editorKey: InjectionKey<Editor> = Symbol('editor')
export const theEditor = () => inject(editorKey)!
