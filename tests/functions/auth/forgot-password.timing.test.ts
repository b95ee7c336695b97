import { describe, expect, it } from 'vitest'
import { indistinguishable } from '#tests/support/expect-answer.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({ env: { FORGOT_EMAIL_LIMIT: '3', FORGOT_IP_LIMIT: '1000000' } })

const forgot = (email: string): Promise<Answer> => service.request('POST /v1/auth/password/forgot', { body: { email } })

describe('POST /v1/auth/password/forgot', () => {
  it('takes the same time for a known, unknown, disabled or malformed email and for one over its limit', async () => {
    const { admin } = service.database
    await admin`
      insert into app.users (email, disabled_at)
      select kind || n || '@timing.test', case when kind = 'disabled' then now() end
        from unnest(array['known', 'disabled']) as kind, generate_series(0, 300) as n`
    const causes: Record<string, (at: number) => string> = {
      known: (at) => `known${at}@timing.test`,
      unknown: (at) => `unknown${at}@timing.test`,
      disabled: (at) => `disabled${at}@timing.test`,
      'no address': (at) => `no address ${at}`,
      'over the limit': () => 'known300@timing.test',
    }
    const names = Object.keys(causes)
    for (let index = 0; index < 3; index += 1) await forgot('known300@timing.test')
    await admin`delete from app.jobs`
    const times = new Map<string, number[]>(names.map((name) => [name, []]))
    const answers = new Set<string>()
    for (let round = 0; round < 210; round += 1) {
      // Each cause goes first in turn, so that order and drift affect all alike.
      for (let place = 0; place < names.length; place += 1) {
        const name = names[(place + round) % names.length] ?? ''
        const started = performance.now()
        const answer = await forgot(causes[name]?.(round) ?? '')
        // The first rounds warm up.
        if (round >= 10) times.get(name)?.push(performance.now() - started)
        answers.add(JSON.stringify(indistinguishable(answer)))
      }
    }
    expect([...answers]).toEqual([expect.stringContaining('"status":204')])
    const median = (name: string): number => times.get(name)?.toSorted((a, b) => a - b)[100] ?? Number.NaN
    for (const name of names) expect(Math.abs(median(name) - median('known')), name).toBeLessThan(3)
    await service.mail.deliver()
    expect(service.mail.to('known300@timing.test')).toEqual([])
    expect(service.mail.to('known209@timing.test')).toHaveLength(1)
  })
})
