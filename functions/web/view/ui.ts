import type { Language } from '#shared/schema/language.ts'
import type { Permission } from '#shared/identity/permissions.ts'
import type { Me } from '#web/http/me.ts'
import type { NavigationName, Texts } from '#web/texts/texts.ts'

/** A page that the navigation of a shop leads to. */
export interface Destination {
  readonly name: NavigationName
  readonly path: string
  readonly permission: Permission | null
}

/** What the parts of a view need to know of the request. The context of every page is one. */
export interface Ui {
  readonly language: Language
  readonly t: Texts
  /** The address of the page, without its query. */
  readonly path: string
  readonly session: Me | null
  /** The pages that the navigation of a shop leads to, for every permission. */
  readonly destinations: readonly Destination[]
  /** Returns the hidden field of a form that is sent to this address of ours. Throws when no form may be sent there. */
  readonly csrf: (to: string) => string
  /** Returns an address to go to next if it is one of ours, else null. */
  readonly ownAddress: (text: string) => string | null
  /** Why the form is shown again, and what the person typed. */
  readonly refusal: Refusal | null
}

/** Why a form was refused. */
export interface Refusal {
  /** 422, or 429 when the person has to wait. */
  readonly status: 422 | 429
  /** What the person typed, by field. A field of a secret never shows it. */
  readonly values: Readonly<Record<string, string>>
  readonly errors: readonly FieldMessage[]
  readonly retryAfterSeconds: number | null
}

/** What is wrong with a field; with null, what is wrong with the whole form. */
export interface FieldMessage {
  readonly field: string | null
  readonly message: string
}
