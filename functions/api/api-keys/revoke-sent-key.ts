import { setTimeout } from 'node:timers/promises'
import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { sourceValue } from '#shared/db/composite.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { perNetwork } from '#shared/http/limit-by.ts'
import { noContent } from '#shared/http/reply.ts'
import { isApiKey } from '#shared/secret/api-key.ts'
import { tokenHashes } from '#shared/secret/secret.ts'

// Longer than a revocation takes, so that the time does not tell whether there was a key.
const REPLY_AFTER_MS = 300

export const revokeSentKey = endpoint({
  route: 'POST /v1/api-keys/revoke',
  access: 'anyone',
  summary: 'Revoke the API key in the body: whoever has a key may end it',
  description:
    'For secret scanners, and for the person who made a key public. The reply is the same for every text, after the same time.',
  needs: ['database', 'pepper', 'invoke:publish-events'],
  audit: { none: 'the database leaves the entry of a revoked key; a text that is no live key leaves none' },
  revokes: true,
  body: v.object({
    key: v.pipe(v.string(), v.maxLength(1000), v.examples(['tnk_MH08w6fdetHZNKaUgOuPboxFf6SkRLxkhf8d5WEUL031gTxFs'])),
  }),
  limits: (input) => [
    perNetwork('api-key-revoke', input, { limit: input.config.apiKey.revokeLimit, windowSeconds: 3600 }),
  ],
  async handle(context) {
    const { body, sql, runtime } = context
    const work = async () => {
      if (!isApiKey(body.key)) return
      const [current, previous] = tokenHashes(runtime, body.key)
      await sql.write(
        (tx) => tx.invoking('publish-events')`
          select from app.revoke_sent_key(${current}, ${previous}, ${sourceValue(requestSource(context))}::app.source)`,
      )
    }
    await Promise.all([work(), setTimeout(REPLY_AFTER_MS)])
    return noContent()
  },
})
