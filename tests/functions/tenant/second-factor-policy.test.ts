import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { group as auth } from '#functions/api/auth/group.ts'
import { group as tenant } from '#functions/api/tenant/group.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { startCounted } from '#tests/support/counted.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

/** Makes a tenant with an owner and a salesperson. The owner's session has proven a second factor. */
async function newShop() {
  const shop = await service.newTenant('owner', 'sales')
  await service.sql`update app.sessions set second_factor_at = now() where id = ${shop.owner.id}`
  const ask = (require: string, days = 0) =>
    service.request('PUT /v1/tenant/second-factor-policy', {
      token: shop.owner.token,
      body: { require, grace_days: days },
    })
  /** Moves the dates of the policy, as time would. */
  const move = (by: string) => service.sql`
    update app.tenants set second_factor_managers_from = second_factor_managers_from + ${by}::interval,
           second_factor_everyone_from = second_factor_everyone_from + ${by}::interval where id = ${shop.id}`
  return { ...shop, ask, move }
}

const works = async (token: string) => (await service.request('GET /v1/tenant', { token })).status === 200
const proven = (id: string) => service.sql`update app.sessions set second_factor_at = now() where id = ${id}`

describe('the policy of a tenant on second factors', () => {
  it('is set by a two-factor session alone, and switched off by any', async () => {
    const { id, owner, sales, ask } = await newShop()
    const set = await ask('managers', 3)
    expect(set.status).toBe(200)
    const { managers_from: from } = set.body.second_factor_policy
    expect(set.body.second_factor_policy).toEqual({ require: 'managers', managers_from: from, everyone_from: null })
    expect(Math.abs(Date.parse(from) - Date.now() - 3 * 86_400_000)).toBeLessThan(60_000)
    expect((await service.request('GET /v1/tenant', { token: owner.token })).body).toEqual(set.body)
    await service.sql`update app.sessions set second_factor_at = null where id = ${owner.id}`
    expectProblem(await ask('everyone'), 'second-factor-required')
    expect((await ask('none')).body.second_factor_policy.require).toBe('none')
    const bySales = await service.request('PUT /v1/tenant/second-factor-policy', {
      token: sales.token,
      body: { require: 'none', grace_days: 0 },
    })
    expect(bySales.status).toBe(403)
    const entries = await service.sql`
      select before, after from app.audit_log where action = 'tenant.second_factor_policy_changed' and tenant_id = ${id}
       order by occurred_at`
    expect(entries.map(({ before, after }) => [before.second_factor, after.second_factor])).toEqual([
      ['none', 'managers'],
      ['managers', 'none'],
    ])
  })

  it('moves a date earlier, never later, until it is switched off', async () => {
    const { ask } = await newShop()
    const dates = async (require: string, days: number) => {
      const { managers_from: managers, everyone_from: everyone } = (await ask(require, days)).body.second_factor_policy
      const inDays = (at: string | null) =>
        at === null ? null : Math.round((Date.parse(at) - Date.now()) / 86_400_000)
      return [inDays(managers), inDays(everyone)]
    }
    expect(await dates('managers', 7)).toEqual([7, null])
    expect(await dates('everyone', 30)).toEqual([7, 30])
    expect(await dates('everyone', 20)).toEqual([7, 20])
    expect(await dates('managers', 30)).toEqual([7, null])
    expect(await dates('none', 0)).toEqual([null, null])
    expect(await dates('managers', 30)).toEqual([30, null])
  })

  it('ends nothing a second before its date, and every one-factor session of those it asks a second after', async () => {
    const { owner, sales, slug, ask, move } = await newShop()
    const second = await mintSession(service.sql, { email: `owner@${slug}.test`, slug })
    const elsewhere = await mintSession(service.sql, { email: `owner@${slug}.test` })
    await ask('managers', 1)
    await move('-23:59:58')
    expect([await works(second.token), await works(sales.token)]).toEqual([true, true])
    await move('-3 seconds')
    expect([await works(second.token), await works(sales.token), await works(owner.token)]).toEqual([false, true, true])
    const answer = await service.request('GET /v1/tenant', { token: second.token })
    expectProblem(answer)
    expect(answer.status).toBe(401)
    // A session without this tenant lives.
    expect((await service.request('GET /v1/auth/session', { token: elsewhere.token })).status).toBe(200)
    await ask('everyone', 0)
    expect([await works(sales.token), await works(owner.token)]).toEqual([false, true])
    await ask('none')
    expect([await works(sales.token), await works(second.token)]).toEqual([true, true])
  })

  it('says with the session from when on its role is asked, and whether the session has proven a second factor', async () => {
    const { id, slug, owner, sales, ask } = await newShop()
    const second = await mintSession(service.sql, { email: `owner@${slug}.test` })
    const read = async (token: string) => (await service.request('GET /v1/auth/session', { token })).body.second_factor
    const select = async () =>
      (await service.request(`POST /v1/auth/tenants/${id}/select`, { token: second.token })).body.second_factor
    expect([await read(owner.token), await read(second.token), await select()]).toEqual([null, null, null])
    const { managers_from: from } = (await ask('managers', 7)).body.second_factor_policy
    const satisfied = { required_from: from, satisfied: true }
    const owed = { required_from: from, satisfied: false }
    expect([await read(owner.token), await read(second.token), await select()]).toEqual([satisfied, owed, owed])
    expect(await read(sales.token)).toBeNull()
    const { everyone_from: later } = (await ask('everyone', 14)).body.second_factor_policy
    expect(await read(second.token)).toEqual(owed)
    expect(await read(sales.token)).toEqual({ required_from: later, satisfied: false })
    await ask('none')
    expect([await read(second.token), await read(sales.token)]).toEqual([null, null])
  })

  it('says it by the one statement of the session check, also with a read that brings the session along', async () => {
    const { sales, ask } = await newShop()
    const cost = async (group: RouteGroup, route: string) => {
      const counted = await startCounted(service.database, group)
      onTestFinished(counted.close)
      const headers = { authorization: `Bearer ${sales.token}`, prefer: 'session' }
      await counted.ask(gatewayEvent({ route, headers }))
      const { status, cost: of } = await counted.ask(gatewayEvent({ route, headers }))
      return { status, statements: of.statements, roundTrips: of.roundTrips }
    }
    const session = () => cost(auth, 'GET /v1/auth/session')
    const page = () => cost(tenant, 'GET /v1/tenant')
    const [before, pageBefore] = [await session(), await page()]
    await ask('everyone', 30)
    expect(before).toEqual({ status: 200, statements: 1, roundTrips: 1 })
    expect([await session(), await page()]).toEqual([before, pageBefore])
  })

  it('refuses to select the tenant without a second factor, and says from when on', async () => {
    const { id, slug, owner, ask } = await newShop()
    await ask('managers', 0)
    const session = await mintSession(service.sql, { email: `owner@${slug}.test` })
    const select = () => service.request(`POST /v1/auth/tenants/${id}/select`, { token: session.token })
    const listed = async () => (await service.request('GET /v1/auth/tenants', { token: session.token })).body.data[0]
    expectProblem(await select(), 'second-factor-required')
    expect((await listed()).second_factor).toEqual({ required_from: expect.any(String), satisfied: false })
    await proven(session.id)
    expect((await listed()).second_factor.satisfied).toBe(true)
    expect((await select()).status).toBe(200)
    const sales = await mintSession(service.sql, { email: `sales@${slug}.test` })
    const { body } = await service.request('GET /v1/auth/tenants', { token: sales.token })
    expect(body.data[0].second_factor).toBeNull()
    expect(await works(owner.token)).toBe(true)
  })

  it('asks somebody who is made a manager, and nobody who no longer is one', async () => {
    const { owner, sales, ask } = await newShop()
    await ask('managers', 0)
    const change = (role: string) =>
      service.request(`PATCH /v1/members/${sales.membershipId}`, { token: owner.token, body: { role } })
    expect(await works(sales.token)).toBe(true)
    expect((await change('admin')).status).toBe(200)
    expect(await works(sales.token)).toBe(false)
    expect((await change('sales')).status).toBe(200)
    expect(await works(sales.token)).toBe(true)
  })

  it('lets no write of a request that was checked before the date begin after it, here or in another service', async () => {
    const { sales, ask } = await newShop()
    const ticket = await ticketOf(service.sql, sales.id)
    const enter = () =>
      service.runtime.database.write((sql) => sql`select app.enter_to_write(${ticket}, 'deal.write', false)`)
    await enter()
    await ask('everyone', 0)
    await expect(enter()).rejects.toMatchObject({ code: 'TN401' })
    const [proof] = await service.sql`select app.service_proof(${ticket}) as proof`
    await expect(
      service.sql.begin(async (tx) => tx`select app.enter(${proof?.['proof']}, 'deal.write')`),
    ).rejects.toMatchObject({ code: 'TN401' })
    await expect(
      service.sql.begin('read only', async (tx) => tx`select app.enter(${proof?.['proof']}, 'deal.read')`),
    ).rejects.toMatchObject({ code: 'TN401' })
  })

  it('lets no write commit after it whose transaction began before it, and waits for one that has entered', async () => {
    const { id, slug, sales, ask } = await newShop()
    const [early, entered] = [await service.sql.reserve(), await service.sql.reserve()]
    onTestFinished(async () => {
      for (const sql of [early, entered]) {
        await sql`rollback`
        sql.release()
      }
    })
    const ticket = await ticketOf(service.sql, sales.id)
    const enter = (sql: typeof early) => sql`select app.enter_to_write(${ticket}, 'deal.write', false)`
    await early`begin`
    await early`select now()`
    await entered`begin`
    await enter(entered)
    await entered`insert into app.designs (tenant_id, name) values (${id}, 'entered before')`
    let answered = false
    const asking = ask('everyone', 0).then((answer) => {
      answered = true
      return answer
    })
    await vi.waitUntil(
      async () => (await service.sql`select from pg_locks where locktype = 'advisory' and not granted`).length > 0,
    )
    expect(answered).toBe(false)
    await entered`commit`
    expect((await asking).status).toBe(200)
    await expect(enter(early)).rejects.toMatchObject({ code: 'TN401' })
    // Nor does such a transaction select the tenant.
    const pending = await mintSession(service.sql, { email: `sales@${slug}.test` })
    const chooser = await ticketOf(service.sql, pending.id)
    const begun = await service.sql.reserve()
    onTestFinished(() => begun.release())
    await ask('none')
    await begun`begin`
    await begun`select now()`
    await ask('everyone', 0)
    await expect(
      begun`select app.select_tenant(${chooser}, ${id}, 60, row('r', null, null)::app.source)`,
    ).rejects.toMatchObject({ code: 'TN427' })
    await begun`rollback`
  })

  it('keeps the last factor of somebody whom a tenant asks for one, now or later', async () => {
    const { slug, ask } = await newShop()
    const user = await newFactorUser(service, [slug])
    const remove = () => service.request(`DELETE /v1/auth/factors/${user.factorId}`, { token: user.token })
    await ask('everyone', 30)
    expectProblem(await remove(), 'last-factor')
    await service.sql`update app.tenants set timezone = 'Pacific/Apia' where slug = ${slug}`
    const { body } = await service.request('GET /v1/auth/factors', { token: user.token })
    expect(body.data).toHaveLength(1)
    expect(body.required_by).toMatchObject([{ tenant: { slug, timezone: 'Pacific/Apia' }, from: expect.any(String) }])
    await service.sql`update app.tenants set status = 'suspended' where slug = ${slug}`
    const [kept] = await service.sql`update app.users set password_hash = null where id = ${user.id} returning id`
    expect(kept).toBeDefined()
    expectProblem(await remove(), 'last-factor')
    await service.sql`update app.users set password_hash = 'x' where id = ${user.id}`
    // A tenant that is not open asks nobody.
    expect((await remove()).status).toBe(204)
  })
})
