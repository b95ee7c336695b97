import type { Sql } from '#shared/db/connect.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import { noContent, type Reply } from '#shared/http/reply.ts'
import { enqueue, NO_OP } from '#shared/queue/queries.ts'
import { clientNetwork } from '#shared/rate-limit/limit.ts'
import type { RuntimeFor } from '#shared/runtime.ts'
import { keyedHash } from '#shared/secret/secret.ts'

const WINDOW_SECONDS = 3600

/**
 * Answers 204 to whoever asks for a mail. It is enqueued when there is one to write (`payload` is not null) and neither
 * the sender nor the recipient is over the limit; when not, an idle job is, and the mailer is woken for it just the same.
 * So the answer and its time are one, whatever the reason.
 */
export async function requestMail(
  { client, runtime }: { client: ClientInfo; runtime: RuntimeFor<'service-secret' | 'cache'> },
  {
    route,
    recipient,
    payload,
    write,
  }: {
    route: 'forgot' | 'verify'
    recipient: string
    payload: object | null
    /** Runs a statement as the endpoint's access allows. */
    write: (work: (sql: Sql) => Promise<void>) => Promise<void>
  },
): Promise<Reply<null>> {
  const { pepper, limiter, config } = runtime
  const limit = (by: 'ip' | 'email', subject: string, most: number) => {
    const name = `${route}-${by}`
    return { name, subject: keyedHash(pepper, name, subject), limit: most, windowSeconds: WINDOW_SECONDS }
  }
  const refusal = await limiter.attemptInConstantSteps([
    limit('ip', clientNetwork(client.ip), config.forgot.ipLimit),
    limit('email', recipient, config.forgot.emailLimit),
  ])
  await write((sql) => (refusal === null && payload !== null ? enqueue(sql, 'mail', payload) : enqueue(sql, NO_OP, {})))
  return noContent({ wakes: 'deliver-mail' })
}
