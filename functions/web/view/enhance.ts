import { asset } from '#web/view/asset.ts'

/**
 * The only script: a button beside each password field that shows what was typed, and forms that are sent once. Every page works without
 * it, and pages without a field of a password or of a code do not load it. It sends nothing, and a form that is sent has its password
 * hidden again, so that no browser remembers it as a text. A code works once, and a browser drops the first response of a double click:
 * with it, the new token of the session would be lost.
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
let sent = false
addEventListener('submit', (event) => {
  if (sent) event.preventDefault()
  sent = true
})
addEventListener('pageshow', () => {
  sent = false
})
`

export const ENHANCE_FILE = asset('enhance', 'js', 'text/javascript; charset=utf-8', ENHANCE)
