import { asset } from '#web/view/asset.ts'

/**
 * The only script: a button beside each password field that shows what was typed, and a word at a form that is being sent. Every page works
 * without it, and pages without a form that people fill in do not load it. It sends nothing, and a form that is sent has its password hidden
 * again, so that no browser remembers it as a text. A page sends one form in ten seconds: a code works once, and a browser drops the first
 * response of a double click. With it, the new token of the session would be lost. After that, the person has stopped it, and may send it
 * again.
 */
export const ENHANCE = `for (const field of document.querySelectorAll('input[type=password][data-show]')) {
  const button = document.createElement('input')
  const { show, hide } = field.dataset
  const say = () => {
    button.value = field.type === 'password' ? show : hide
  }
  const turn = (type) => {
    field.type = type
    say()
  }
  button.type = 'button'
  button.className = 'button show'
  button.setAttribute('aria-controls', field.id)
  const [label] = field.labels
  label.id = field.id + '-label'
  button.setAttribute('aria-describedby', label.id)
  button.addEventListener('click', () => turn(field.type === 'password' ? 'text' : 'password'))
  field.form.addEventListener('submit', () => turn('password'))
  addEventListener('pagehide', () => turn('password'))
  say()
  field.after(button)
}
const { working } = document.currentScript.dataset
let rest
addEventListener('submit', (event) => {
  if (rest !== undefined) event.preventDefault()
  if (event.defaultPrevented) return
  const { target: form, submitter: pressed } = event
  const said = document.createElement('p')
  said.setAttribute('role', 'status')
  form.append(said)
  const say = setTimeout(() => {
    pressed?.setAttribute('aria-busy', 'true')
    said.textContent = working
  }, 500)
  rest = () => {
    clearTimeout(say)
    clearTimeout(end)
    pressed?.removeAttribute('aria-busy')
    said.remove()
    rest = undefined
  }
  const end = setTimeout(rest, 10000)
})
addEventListener('pageshow', () => rest?.())
`

export const ENHANCE_FILE = asset('enhance', 'js', 'text/javascript; charset=utf-8', ENHANCE)
