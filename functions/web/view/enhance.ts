import { asset } from '#web/view/asset.ts'

/**
 * The only script: a button beside each password field that shows what was typed. Every page works without it, and pages without a
 * password field do not load it. It sends nothing, and a form that is sent has its password hidden again, so that no browser
 * remembers it as a text.
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
`

export const ENHANCE_FILE = asset('enhance', 'js', 'text/javascript; charset=utf-8', ENHANCE)
