import { asset } from '#web/view/asset.ts'

/**
 * The only script. Every page works without it, and pages without a form that people fill in do not load it. It sends nothing but forms.
 *
 * It adds a button beside each password field that shows what was typed. A form that is sent has its password hidden again, so that no
 * browser remembers it as a text.
 *
 * It adds a word to a form that is being sent. A page sends one form in ten seconds: a code works once, and a browser drops the first
 * response of a double click. With it, the new token of the session would be lost. After that, the person has stopped it, and may send it
 * again.
 *
 * It uses passkeys: it reads the options that the page has (view/passkey.ts), asks the browser, puts the answer into a field, and sends the
 * form. It copies the buffers itself, because `toJSON()` fails under several password managers. At the field of an email the browser offers
 * passkeys by itself. Such a page loads itself again when somebody returns to it after nine minutes and has typed nothing: its challenge
 * is good for ten. A page that says what was wrong does not: it would send its form again.
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
const { working, passkey } = document.currentScript.dataset
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
const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0))
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const publicKey = passkey && window.PublicKeyCredential ? JSON.parse(passkey) : { rpId: '-' }
const { user, rp, rpId = rp.id, allowCredentials, excludeCredentials } = publicKey
const isHere = ('.' + location.hostname).endsWith('.' + rpId)
if (isHere) {
  publicKey.challenge = bytes(publicKey.challenge)
  if (user) user.id = bytes(user.id)
  for (const each of allowCredentials ?? excludeCredentials) each.id = bytes(each.id)
  for (const each of document.querySelectorAll('[data-without]')) each.hidden = true
}
let waiting
for (const part of isHere ? document.querySelectorAll('main [data-passkey]') : []) {
  const [said, button] = part.querySelectorAll('button, [role=alert]')
  const { form } = button
  const field = form.elements[part.dataset.passkey]
  const ask = async (more) => {
    waiting?.abort()
    waiting = new AbortController()
    const asked = { publicKey, signal: waiting.signal, ...more }
    const { id, rawId, type, response } = await navigator.credentials[user ? 'create' : 'get'](asked)
    const sent = { transports: response.getTransports?.() }
    for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'])
      if (response[name]?.byteLength) sent[name] = text(response[name])
    field.value = JSON.stringify({ id, rawId: text(rawId), type, response: sent })
    form.requestSubmit()
  }
  button.addEventListener('click', (event) => {
    event.preventDefault()
    said.hidden = true
    ask().catch(({ name }) => {
      if (name === 'AbortError') return
      said.textContent = said.dataset[name] ?? said.dataset.text
      said.hidden = false
    })
  })
  addEventListener('pageshow', () => (field.value = ''))
  part.hidden = false
  if (!('autofill' in part.dataset)) continue
  PublicKeyCredential.isConditionalMediationAvailable?.()
    .then((is) => is && ask({ mediation: 'conditional' }))
    .catch(() => {})
  const begun = Date.now()
  document.addEventListener('visibilitychange', () => {
    const typed = [...document.querySelectorAll('main [required], .summary')].some(({ value }) => value !== '')
    if (!document.hidden && Date.now() - begun > 540000 && !typed) location.reload()
  })
}
`

export const ENHANCE_FILE = asset('enhance', 'js', 'text/javascript; charset=utf-8', ENHANCE)
