import type { Config } from '#shared/base/config.ts'
import type { Language } from '#shared/schema/language.ts'
import type { Permission } from '#shared/identity/permissions.ts'
import type { Me, OwnPasskey, Proof } from '#web/http/me.ts'
import type { NavigationName, Texts } from '#web/texts/texts.ts'

/** A page that the navigation of a shop leads to. */
export interface Destination {
  readonly name: NavigationName
  readonly path: string
  readonly permission: Permission | null
  /** Another address whose pages belong to it. */
  readonly covers: string | null
}

/** What the parts of a view need to know of the request. The context of every page is one. */
export interface Ui {
  readonly language: Language
  readonly t: Texts
  /** The address of the page, without its query. */
  readonly path: string
  readonly session: Me | null
  /** The name of the platform, and where its operator leads people. An empty address is none. */
  readonly platform: Config['platform']
  /** Whether browsers make passkeys at the address of the front end. */
  readonly hasPasskeys: boolean
  /** The pages that the navigation of a shop leads to, for every permission. */
  readonly destinations: readonly Destination[]
  /** Returns the hidden fields that bind a form to its session or browser, its person and its link. Throws when no form may be sent there. */
  readonly bound: (to: string) => Readonly<Record<string, string>>
  /** Returns the proof of presence that a form sent there asks for, or null. */
  readonly proofFor: (to: string) => Proof | null
  /** The passkey by which such a form takes the proof, too, or null. */
  readonly ownPasskey: OwnPasskey | null
  /** Returns an address to go to next if it is one of ours, else null. */
  readonly ownAddress: (text: string) => string | null
  /** The page of ours that the person wanted before this one, from the field `next` of the query or of the form. Null for any other text. */
  readonly wanted: string | null
  /**
   * What the page turned out to need. A form that people fill in loads the script. The first form that owes a proof has the fields of it.
   * `passkey`: the options with which the script asks for one.
   */
  readonly needs: { script: boolean; proof: boolean; passkey: object | null }
  /** Why the form is shown again, and what the person typed. */
  readonly refusal: Refusal | null
}

/** Why a form was refused. */
export interface Refusal {
  /** 422, 429 when the person has to wait, or 503 when a vendor does not reply. */
  readonly status: 422 | 429 | 503
  /** The kind of the API's problem, or null when the page itself refuses. */
  readonly kind: string | null
  /** What the person typed, by field. A field of a secret never shows it. */
  readonly values: Readonly<Record<string, string>>
  readonly errors: readonly FieldMessage[]
  readonly retryAfterSeconds: number | null
  /** What was done all the same, in words. */
  readonly done?: readonly string[]
  /** The labels of the fields that the form shows. The form fills them in, and the summary above it names them. */
  readonly labels: Map<string, string>
}

/** What is wrong with a field; with null, what is wrong with the whole form. */
export interface FieldMessage {
  readonly field: string | null
  readonly message: string
}
