import { type Content, type Html, html } from '#web/http/html.ts'
import type { Ui } from '#web/view/ui.ts'

/** The name of the hidden field against cross-site requests. */
export const CSRF_FIELD = 'csrf'
/** The name of the hidden field that says which link of a mail a form belongs to. */
export const LINK_FIELD = 'link'
/** The name of the hidden field that says whom a form was shown to. */
export const PERSON_FIELD = 'person'
/** The name of the hidden field by which a second press of a form is known. */
export const ONCE_FIELD = 'once'

/** The fields of secrets. They are never filled in, and never kept. */
export const SECRET_FIELDS = [
  'password',
  'current_password',
  'new_password',
  'repeated',
  'secret',
  'proof_password',
] as const
/** The fields of codes that work once. They can be read while they are typed, are never filled in, and never kept. */
export const CODE_FIELDS = ['setup_code', 'recovery_code', 'proof_code', 'proof_recovery_code'] as const
/** The fields of what a passkey answered. */
export const PASSKEY_FIELDS = ['credential', 'proof_credential'] as const
type SecretField = (typeof SECRET_FIELDS)[number]

/** The id of a field, to which the summary of errors links. */
export const idOf = (name: string): string => `field-${name}`

/** What is wrong with a field. */
export const errorsOf = ({ refusal }: Ui, name: string): readonly string[] =>
  (refusal?.errors ?? []).flatMap(({ field, message }) => (field === name ? [message] : []))

/** Returns hidden fields. */
export const hiddenFields = (fields: Readonly<Record<string, string>>): Html[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)

interface FormParts {
  /** The address of ours that it is sent to. */
  readonly to: string
  readonly hidden?: Readonly<Record<string, string>>
}

/** A form with fields and one button, which asks for a proof of presence where its route needs one. `back` is where a link beside it leads who does not want to send it. */
export const form = (
  ui: Ui,
  {
    to,
    hidden = {},
    fields,
    submit,
    style = 'main',
    back,
  }: FormParts & {
    readonly fields: Content
    readonly submit: string
    readonly style?: 'main' | 'danger'
    readonly back?: string
  },
): Html => {
  ui.needs.script = true
  return html`<form class="form" method="post" action="${to}" novalidate>
${hiddenFields({ ...ui.bound(to), ...hidden })}
${fields}
${proofFields(ui, to)}
<div class="actions"><button type="submit"${style === 'danger' && html` class="danger"`}>${submit}</button>${back !== undefined && html` <a href="${back}">${ui.t.common.cancel}</a>`}</div>
</form>`
}

/**
 * An action as a button. `about` names the object of the action for those who hear the page: "Remove" and then "Ann Archer".
 */
export const actionButton = (
  ui: Ui,
  parts: FormParts & { readonly label: string; readonly about?: string; readonly style?: 'plain' | 'danger' | 'main' },
): Html => {
  const { to, hidden = {}, label, about, style = 'plain' } = parts
  return html`<form class="action" method="post" action="${to}">${hiddenFields({ ...ui.bound(to), ...hidden })}<button type="submit" class="${style}">${label}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</button></form>`
}

/** An action whose button is as large as what it is about: one target for a row of a list. */
export const pressable = (ui: Ui, { to, hidden = {}, label }: FormParts & { readonly label: Content }): Html =>
  html`<form method="post" action="${to}">${hiddenFields({ ...ui.bound(to), ...hidden })}<button type="submit" class="choice">${label}</button></form>`

/** Several messages, each on a line of its own. */
export const lines = (messages: readonly string[]): Html[] =>
  messages.map((message, at) => html`${at > 0 && html`<br>`}${message}`)

/** What is wrong with a field or a group of fields. */
export const errorText = (ui: Ui, errors: readonly string[], id?: string): Html | false =>
  errors.length > 0 &&
  html`<p class="error"${id !== undefined && html` id="${id}"`}><span class="unseen">${ui.t.common.errorPrefix} </span>${lines(errors)}</p>`

export interface FieldParts {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** Another field may be filled in instead. */
  readonly either?: true
  /** What it contains at first. What the person typed replaces it after a refusal. */
  readonly value?: string | null
  readonly optional?: true
}

/** The label, the hint and the errors of a field, around its control. */
export function around(
  ui: Ui,
  { name, label, hint, optional, either }: FieldParts,
  control: (attributes: Html) => Html,
): Html {
  const id = idOf(name)
  ui.refusal?.labels.set(name, label)
  const errors = errorsOf(ui, name)
  const describedBy = [...(hint === undefined ? [] : [`${id}-hint`]), ...(errors.length === 0 ? [] : [`${id}-error`])]
  const attributes = html`id="${id}" name="${name}"${optional === undefined && either === undefined && html` required`}${describedBy.length > 0 && html` aria-describedby="${describedBy.join(' ')}"`}${errors.length > 0 && html` aria-invalid="true"`}`
  return html`<div class="${errors.length > 0 ? 'field invalid' : 'field'}">
<label for="${id}">${label}${optional === true && html` <span class="quiet">${ui.t.common.optional}</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${errorText(ui, errors, `${id}-error`)}
${control(attributes)}
</div>`
}

/** A field of one line. A password is never filled in. `autocomplete` is a token of the HTML standard, or `off`. */
export const field = (
  ui: Ui,
  parts: FieldParts & {
    /** The person can read and copy it, and not change it. */
    readonly readonly?: true
    /** The shortest new password. Password managers read it, and make one that fits. */
    readonly minLength?: number
    readonly autocomplete:
      | 'one-time-code'
      | 'username'
      | 'username webauthn'
      | 'current-password'
      | 'new-password'
      | 'email'
      | 'name'
      | 'off'
  } & (
      | { readonly type?: 'text' | 'email' | 'search' }
      /** `masked` is a secret that is no password of the person: no password manager keeps it, or fills it in. */
      | { readonly type: 'password' | 'masked'; readonly name: SecretField }
    ),
): Html => {
  const { name, type = 'text', autocomplete, readonly, minLength } = parts
  const isPassword = type === 'password'
  const isMasked = type === 'masked'
  const shown = isPassword && html` data-show="${ui.t.common.show}" data-hide="${ui.t.common.hide}"`
  const rules = minLength !== undefined && html` minlength="${minLength}" passwordrules="minlength: ${minLength};"`
  const typed = readonly === undefined ? ui.refusal?.values[name] : undefined
  const value = isPassword || isMasked ? '' : (typed ?? parts.value ?? '')
  const isCode = autocomplete === 'one-time-code'
  const plain = type === 'email' || isPassword || autocomplete === 'off'
  return around(
    ui,
    parts,
    (attributes) =>
      html`<input ${attributes} type="${isMasked ? 'text' : type}"${isMasked && html` class="masked"`} autocomplete="${autocomplete}"${value !== '' && html` value="${value}"`}${plain && html` autocapitalize="none" spellcheck="false"`}${isCode && html` inputmode="numeric"`}${readonly === true && html` readonly`}${rules}${shown}>`,
  )
}

/** Asks for a proof that it is the person themself, in the first form of a page that owes one. */
export function proofFields(ui: Ui, to: string): Html | null {
  const proof = ui.needs.proof ? null : ui.proofFor(to)
  if (proof === null) return null
  ui.needs.proof = true
  const { secondFactor: t } = ui.t
  const code = ui.ownPasskey?.hasApp === false ? null : 'proof_code'
  // The summary of errors links to the button where no field asks for the code.
  if (code === null) ui.refusal?.labels.set('proof_code', t.usePasskey)
  return html`<fieldset class="proof"${code === null && html` id="${idOf('proof_code')}" tabindex="-1"`}><legend>${t.confirm}</legend>${
    proof === 'password'
      ? field(ui, {
          name: 'proof_password',
          label: t.proofPassword,
          type: 'password',
          autocomplete: 'current-password',
        })
      : html`${proofByPasskey(ui)}${codeOrRecoveryCode(ui, code, 'proof_recovery_code')}`
  }</fieldset>`
}

/** Nothing without a passkey, and on a page that asks for one in another form. */
function proofByPasskey(ui: Ui): Html | null {
  if (ui.ownPasskey === null || ui.needs.passkey !== null) return null
  ui.needs.passkey = ui.ownPasskey.options
  const button = html`<button type="button" class="plain">${ui.t.secondFactor.usePasskey}</button>`
  return passkeyPart(ui, { name: 'proof_credential', button })
}

/** The part of a form that the script of view/enhance.ts shows where passkeys work: its button asks for one, and sends the form. */
export function passkeyPart(
  ui: Ui,
  parts: {
    readonly name: (typeof PASSKEY_FIELDS)[number]
    readonly above?: Html
    readonly button: Html
    readonly back?: string | undefined
    readonly autofill?: boolean
  },
): Html {
  const { name, above = null, button, back, autofill = false } = parts
  const { fieldErrors, secondFactor, common } = ui.t
  return html`<div hidden data-passkey="${name}"${autofill && html` data-autofill`}><input type="hidden" name="${name}">${above}
<p class="error" role="alert" hidden data-text="${String(fieldErrors['wrong-passkey'])}" data--invalid-state-error="${secondFactor.knownDevice}"></p>
<div class="actions">${button}${back !== undefined && html` <a href="${back}">${common.cancel}</a>`}</div></div>`
}

/** A code of the authenticator app, or a recovery code instead. With `code` null, which is for somebody without an app, only the latter. */
export function codeOrRecoveryCode(ui: Ui, code: string | null, recoveryCode: string): Html {
  const { secondFactor: t } = ui.t
  const recovery = field(ui, {
    name: recoveryCode,
    label: t.recoveryCode,
    hint: t.recoveryHint,
    autocomplete: 'off',
    either: true,
  })
  if (code === null) return recovery
  const isOpen = errorsOf(ui, recoveryCode).length > 0
  return html`${field(ui, { name: code, label: t.code, hint: t.codeHint, autocomplete: 'one-time-code', either: true })}
<details${isOpen && html` open`}><summary>${t.orRecoveryCode}</summary>
${recovery}
</details>`
}

/** A field of several lines. */
export const textArea = (ui: Ui, parts: FieldParts & { readonly rows: number }): Html => {
  const value = ui.refusal?.values[parts.name] ?? parts.value ?? ''
  return around(
    ui,
    parts,
    (attributes) =>
      html`<textarea ${attributes} rows="${parts.rows}" autocomplete="off" autocapitalize="none" spellcheck="false">\n${value}</textarea>`,
  )
}

/** The account that a form is about, which the person cannot change. Password managers read it. */
export const accountField = (ui: Ui, email: string): Html =>
  field(ui, {
    name: 'username',
    label: ui.t.common.account,
    type: 'email',
    value: email,
    autocomplete: 'username',
    readonly: true,
  })

/** What was wrong with the form, with a link to each field. Nothing without a refusal. */
export function errorSummary({ refusal, t }: Ui): Html | null {
  if (refusal === null || refusal.errors.length === 0) return null
  const items = refusal.errors.map(({ field: name, message }) => {
    const label = refusal.labels.get(name ?? '')
    return name === null || label === undefined
      ? html`<li>${message}</li>`
      : html`<li><a href="#${idOf(name)}">${label}: ${message}</a></li>`
  })
  return html`<div class="summary" role="alert" aria-labelledby="summary-title" tabindex="-1" autofocus>
<h2 id="summary-title">${t.common.errorSummary}</h2>
<ul>${items}</ul>
</div>
${(refusal.done ?? []).length > 0 && html`<ul class="notice">${refusal.done?.map((each) => html`<li>${each}</li>`)}</ul>`}`
}
