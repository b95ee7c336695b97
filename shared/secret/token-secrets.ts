import * as v from 'valibot'

const secret = (name: string) => v.pipe(v.string(`${name} is required`), v.minLength(32, `${name} is too short`))

/** The secret that tokens are found with. The previous value is set during a rotation only (infra/runbook/secrets.md). */
export interface Pepper {
  /** Hashes tokens, addresses of clients and emails. */
  readonly pepper: string
  /** Tokens are found by this one too; nothing is stored by it. */
  readonly pepperPrevious?: string | undefined
}

/** The secret that single-use tokens are made with. The previous value is set during a rotation only. */
export interface MailKey {
  /** Single-use tokens are derived with it. */
  readonly mailKey: string
  /** A mail that is still in the queue may have a token derived with this one. */
  readonly mailKeyPrevious?: string | undefined
}

/** The secret that seals second factors and proves them to the database. The previous value is set during a rotation only. */
export interface FactorKey {
  /** Seals new secrets. */
  readonly factorKey: string
  /** What was sealed by this one still opens. */
  readonly factorKeyPrevious?: string | undefined
}

/** The secret of the front end's forms that need no session. A new one makes the open forms invalid, and nothing else. */
export interface WebKey {
  readonly webKey: string
}

export type TokenSecrets = Pepper & MailKey

/** Parses the pepper as Secrets Manager stores it. Nothing else stores it. */
export const PepperSecret = v.pipe(
  v.object({ pepper: secret('pepper'), pepper_previous: v.optional(secret('pepper_previous')) }),
  v.transform((stored): Pepper => ({ pepper: stored.pepper, pepperPrevious: stored.pepper_previous })),
)

/** Parses the mail key as Secrets Manager stores it. Nothing else stores it. */
export const MailKeySecret = v.pipe(
  v.object({ mail_key: secret('mail_key'), mail_key_previous: v.optional(secret('mail_key_previous')) }),
  v.transform((stored): MailKey => ({ mailKey: stored.mail_key, mailKeyPrevious: stored.mail_key_previous })),
)

/** Parses the factor key as Secrets Manager stores it. Nothing else stores it. */
export const FactorKeySecret = v.pipe(
  v.object({ factor_key: secret('factor_key'), factor_key_previous: v.optional(secret('factor_key_previous')) }),
  v.transform((stored): FactorKey => ({ factorKey: stored.factor_key, factorKeyPrevious: stored.factor_key_previous })),
)

/** Parses the web key as Secrets Manager stores it. Nothing else stores it. */
export const WebKeySecret = v.pipe(
  v.object({ web_key: secret('web_key') }),
  v.transform((stored): WebKey => ({ webKey: stored.web_key })),
)
