/* The server wants the password once more, before what lets others in is changed: a dialog asks for it, whichever page asked for the
 * change, and what was refused is sent again. */
import { post } from '@/api/client'
import { w } from '@/words/prove'

function field(form: HTMLFormElement): HTMLInputElement {
	const input = document.createElement('input')
	Object.assign(input, { type: 'password', autocomplete: 'current-password', required: true, className: 'input' })
	input.setAttribute('aria-label', w('password'))
	form.append(input)
	return input
}

function button(form: HTMLFormElement, text: string, type: 'submit' | 'button'): HTMLButtonElement {
	const b = document.createElement('button')
	Object.assign(b, { type, textContent: text, className: type === 'submit' ? 'button primary' : 'button' })
	form.append(b)
	return b
}

let open: Promise<boolean> | null = null

function ask(): Promise<boolean> {
	const dialog = document.createElement('dialog'),
		form = document.createElement('form'),
		said = document.createElement('p')
	dialog.className = 'dialog'
	dialog.setAttribute('aria-label', w('title'))
	said.textContent = w('why')
	said.setAttribute('role', 'status')
	form.append(said)
	const input = field(form)
	button(form, w('go'), 'submit')
	const no = button(form, w('no'), 'button')
	dialog.append(form)
	/* A dialog of the page may lie below, which takes hands and keys outside of it for its own end. */
	dialog.style.pointerEvents = 'auto'
	for (const of of ['keydown', 'pointerdown', 'focusin']) dialog.addEventListener(of, e => e.stopPropagation())
	document.body.append(dialog)
	dialog.showModal()
	return new Promise(done => {
		let is = false
		no.onclick = () => dialog.close()
		form.onsubmit = e => {
			e.preventDefault()
			post('/session/proof', { password: input.value }).then(
				() => {
					is = true
					dialog.close()
				},
				(wrong: Error) => {
					said.textContent = wrong.message
					input.select()
				},
			)
		}
		dialog.onclose = () => {
			dialog.remove()
			done(is)
		}
	})
}

/* Questions that were refused together are answered together. */
export function prove(): Promise<boolean> {
	open ??= ask().finally(() => (open = null))
	return open
}
