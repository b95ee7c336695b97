import { expect, it } from 'vitest'
import { auditFailedSignIns } from '#functions/workers/audit-sign-ins/audit-sign-ins.ts'
import { createTenant, createUser } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const run = (shouldStop = () => false) => auditFailedSignIns(service.worker.database.sql, shouldStop)
const fail = (email: string) =>
  service.request('POST /v1/auth/login', { body: { email, password: 'a wrong password' } })
const entries = () => service.sql`
  select tenant_id, target_id, occurred_at from app.audit_log where action = 'session.sign_in_failed' order by tenant_id`

it('writes one row for a failed sign-in of an unknown user, and of a user of any number of tenants', async () => {
  const slugs = Array.from({ length: 5 }, (_, index) => `many-${index}`)
  for (const slug of slugs) await createTenant(service.sql, slug)
  await createUser(service.sql, { email: 'many@shops.test', slugs })
  await createUser(service.sql, { email: 'none@shops.test' })
  const written = async () => {
    const [row] = await service.sql`
      select (select count(*)::int from app.failed_sign_ins) as rows, (select count(*)::int from app.audit_log) as entries`
    return row
  }
  const before = await written()
  for (const [index, email] of ['many@shops.test', 'none@shops.test', 'nobody@shops.test'].entries()) {
    await fail(email)
    expect(await written()).toEqual({ ...before, rows: before?.['rows'] + index + 1 })
  }
  expect(await run()).toBe(3)
  expect(await entries()).toHaveLength(slugs.length)
  expect(await run()).toBe(0)
  expect(await entries()).toHaveLength(slugs.length)
})

it('audits a failed sign-in with its own time, in the tenants where the user was a member then', async () => {
  await service.sql`delete from app.audit_log`
  const [then, later] = ['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']
  for (const slug of ['was', 'joined', 'had-left']) await createTenant(service.sql, slug)
  const user = await createUser(service.sql, { email: 'moving@shops.test', slugs: ['was', 'joined', 'had-left'] })
  await service.sql`
    update app.memberships m
       set accepted_at = case t.slug when 'joined' then ${later}::timestamptz else '2026-01-01Z' end,
           revoked_at = case t.slug when 'was' then ${later}::timestamptz when 'had-left' then '2026-01-01T12:00:00Z' end
      from app.tenants t where t.id = m.tenant_id and m.user_id = ${user}`
  await service.sql`insert into app.failed_sign_ins (user_id, occurred_at) values (${user}, ${then})`
  expect(await run()).toBe(1)
  const [tenant] = await service.sql`select id from app.tenants where slug = 'was'`
  expect(await entries()).toEqual([{ tenant_id: tenant?.['id'], target_id: user, occurred_at: new Date(then) }])
})

it('audits each failed sign-in once in concurrent runs, and stops when its time is up', async () => {
  await service.sql`delete from app.audit_log`
  const [user] = await service.sql`select id from app.users where email = 'sales@acme.test'`
  await service.sql`
    insert into app.failed_sign_ins (user_id) select ${user?.['id']}::uuid from generate_series(1, 1000)`
  expect(await run(() => true)).toBe(0)
  const moved = await Promise.all([run(), run(), run()])
  await run()
  expect(await entries()).toHaveLength(1000)
  expect(moved.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(1000)
})
