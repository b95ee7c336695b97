import postgres from 'postgres'
import { afterAll, expect, it } from 'vitest'
import { createTestDatabase } from '#tests/support/database.ts'
import { tenantId } from '#tests/support/minted-session.ts'
import { createServiceLogin } from '#tests/support/service-login.ts'

const database = await createTestDatabase()
const { admin } = database
const login = await createServiceLogin(admin, database.appUrl)
const notices: postgres.Notice[] = []
const sql = postgres(login.url, { max: 1, fetch_types: false, onnotice: (notice) => notices.push(notice) })
afterAll(async () => {
  await sql.end()
  await admin.unsafe(`drop owned by ${login.role}; drop role ${login.role}`)
  await database.drop()
})

const entries = (tenant: string) =>
  admin`select from app.audit_log where tenant_id = ${tenant} and action = 'service.entered' and after ->> 'role' = ${login.role}`

it.each([
  ['a rollback', 'rollback', 0],
  ['a rollback to a savepoint', 'rollback to savepoint s; commit', 0],
  ['a commit', 'commit', 1],
])(
  'an entry of a service is in the log of the server after %s, with the login and the tenant',
  async (_end, end, audited) => {
    const tenant = await tenantId(admin, 'acme-print')
    await admin`insert into app.service_tenants (tenant_id, role) values (${tenant}, ${login.role}) on conflict do nothing`
    // The function keeps its lines from its caller. Here they are what the log of the server gets.
    await admin`alter function app.enter_as_service(uuid) set client_min_messages = log`
    const before = (await entries(tenant)).length
    notices.length = 0
    await sql.unsafe(`begin; savepoint s; select app.enter_as_service('${tenant}')`)
    await sql.unsafe(end)
    expect(notices).toEqual([
      expect.objectContaining({ severity: 'LOG', message: `service ${login.role} enters tenant ${tenant}` }),
    ])
    expect((await entries(tenant)).length - before).toBe(audited)
  },
)

it('an entry that is refused is in neither', async () => {
  const other = await tenantId(admin, 'bolt-apparel')
  notices.length = 0
  await expect(sql`select app.enter_as_service(${other})`).rejects.toMatchObject({ code: 'TN403' })
  expect(notices).toEqual([])
  expect(await entries(other)).toHaveLength(0)
})
