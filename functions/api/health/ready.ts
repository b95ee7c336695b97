import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { unavailable } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { describeError, log } from '#shared/base/log.ts'

const PROBE_MS = 1000

const Outcome = v.picklist(['ok', 'failed'])

/** Checks that a dependency responds within a second. Logs why it does not. */
async function probe(name: string, call: () => Promise<unknown>): Promise<'ok' | 'failed'> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no response in time')), PROBE_MS)
  })
  try {
    await Promise.race([call(), timeout])
    return 'ok'
  } catch (error) {
    log.warn('a dependency is not ready', { dependency: name, error: describeError(error) })
    return 'failed'
  } finally {
    clearTimeout(timer)
  }
}

export const ready = endpoint({
  route: 'GET /health/ready',
  access: 'anyone',
  summary: 'Check that the service reaches its dependencies',
  needs: ['database', 'cache'],
  reply: v.object({ status: v.literal('ok'), database: v.literal('ok'), cache: v.literal('ok') }),
  problems: [{ kind: 'dependency-unavailable', members: v.object({ database: Outcome, cache: Outcome }) }],
  async handle({ sql, runtime }) {
    const [database, cache] = await Promise.all([
      probe('database', () => sql`select 1`),
      probe('cache', () => runtime.limiter.ping()),
    ])
    if (database === 'failed' || cache === 'failed') throw unavailable(null, { database, cache })
    return ok({ status: 'ok', database, cache })
  },
})
