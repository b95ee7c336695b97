import * as v from 'valibot'

const secret = (name: string) => v.pipe(v.string(`${name} is required`), v.minLength(32, `${name} is too short`))

/** Parses the service secret as Secrets Manager stores it. Nothing else stores it. */
export const ServiceSecretSchema = v.pipe(
  v.object({
    pepper: secret('pepper'),
    mail_key: secret('mail_key'),
    pepper_previous: v.optional(secret('pepper_previous')),
    mail_key_previous: v.optional(secret('mail_key_previous')),
  }),
  v.transform(
    (stored): ServiceSecret => ({
      pepper: stored.pepper,
      pepperPrevious: stored.pepper_previous,
      mailKey: stored.mail_key,
      mailKeyPrevious: stored.mail_key_previous,
    }),
  ),
)

/** The secret that tokens are made and found with. The previous values are set during a rotation only (infra/runbook.md). */
export interface ServiceSecret {
  /** Hashes tokens, addresses of clients and emails. */
  readonly pepper: string
  /** Tokens are found by this one too; nothing is stored by it. */
  readonly pepperPrevious?: string | undefined
  /** Single-use tokens are derived with it. */
  readonly mailKey: string
  /** A mail that is still in the queue may have a token derived with this one. */
  readonly mailKeyPrevious?: string | undefined
}
