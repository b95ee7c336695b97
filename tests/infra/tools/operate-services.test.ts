import postgres from 'postgres'
import { describe, expect, it, vi } from 'vitest'
import { LOCAL_CALLER } from '#infra/local/aws/sts.ts'
import { basic } from '#tests/support/service-key.ts'
import { createServiceLogin, type ServiceLogin } from '#tests/support/service-login.ts'
import { REASON, useOperator } from './operator-commands.ts'

const { service, auditOf, command } = useOperator()

describe('grant-service-tenant and revoke-service-tenant', () => {
  /** Enters a tenant as another service, and returns how to end its transaction. Rejects when it may not. */
  async function enterAs({ url }: ServiceLogin, tenant: string): Promise<() => Promise<void>> {
    const sql = postgres(url, { max: 1, fetch_types: false })
    try {
      await sql.unsafe('begin')
      await sql`select app.enter_as_service(${tenant})`
    } catch (error) {
      await sql.end()
      throw error
    }
    return async () => {
      await sql.unsafe('commit')
      await sql.end()
    }
  }

  it('let a service enter a tenant until the grant is revoked or the tenant closed, and both wait for its work', async () => {
    const { admin } = service.database
    const login = await createServiceLogin(admin, service.database.appUrl)
    const { role } = login
    const { id, slug } = await service.newTenant('owner')
    const other = await service.newTenant('owner')
    const refused = { code: 'TN403' }
    const grant = () => command('grant-service-tenant', role, slug, '--json')
    await expect(enterAs(login, id)).rejects.toMatchObject(refused)
    expect(JSON.parse((await grant()).stdout).done).toMatchObject({ role, slug, granted: true })
    expect(JSON.parse((await grant()).stdout).done).toMatchObject({ granted: false })
    await expect(enterAs(login, other.id)).rejects.toMatchObject(refused)
    for (const [close, open] of [
      [
        ['revoke-service-tenant', role, slug],
        ['grant-service-tenant', role, slug],
      ],
      [
        ['set-status', slug, 'suspended'],
        ['set-status', slug, 'active'],
      ],
    ] as const) {
      const end = await enterAs(login, id)
      let closed = false
      const closing = command(...close).then((outcome) => {
        closed = true
        return outcome
      })
      await vi.waitFor(async () => {
        const [waiting] = await admin`
          select from pg_stat_activity where datname = current_database() and usename = 'identity_operator' and wait_event_type = 'Lock'`
        expect(waiting).toBeDefined()
      })
      expect(closed, close[0]).toBe(false)
      await end()
      expect(await closing).toMatchObject({ code: 0 })
      await expect(enterAs(login, id)).rejects.toMatchObject(refused)
      expect(await command(...open)).toMatchObject({ code: 0 })
      await (await enterAs(login, id))()
    }
    const entries = (await auditOf(slug)).filter((action) => action.startsWith('service.'))
    const [granted, entered, revoked] = ['service.granted', 'service.entered', 'service.revoked']
    expect(entries).toEqual([granted, entered, revoked, granted, entered, entered, entered])
    for (const login of ['identity_app', 'tenant_bound', 'nobody'])
      expect((await command('grant-service-tenant', login, slug)).stderr).toContain(`There is no login ${login}`)
    await admin.unsafe(`drop role ${role}`)
  })
})

describe('a grant of a tenant', () => {
  const enter = async ({ url }: ServiceLogin, tenant: string): Promise<string> => {
    const sql = postgres(url, { max: 1, fetch_types: false })
    try {
      await sql`select app.enter_as_service(${tenant})`
      return 'entered'
    } catch (error) {
      return error instanceof postgres.PostgresError ? error.code : String(error)
    } finally {
      await sql.end()
    }
  }
  const asLogin = ({ url }: ServiceLogin, role: string): ServiceLogin => ({
    role,
    url: url.replace(/service_\w+?:/, `${role}:`),
  })

  it('ends with its role: a later role of the name, by creation or by renaming, does not enter until it is granted', async () => {
    const { admin } = service.database
    const { id, slug } = await service.newTenant('owner')
    const login = await createServiceLogin(admin, service.database.appUrl)
    const { role } = login
    expect((await command('grant-service-tenant', role, slug)).code).toBe(0)
    expect(await enter(login, id)).toBe('entered')
    await admin.unsafe(`drop role ${role}`)
    await admin.unsafe(`create role ${role} login password 'service'; grant tenant_bound to ${role} with inherit true`)
    expect(await enter(login, id), 'a role that was created again').toBe('TN403')
    expect(JSON.parse((await command('grant-service-tenant', role, slug, '--json')).stdout).done.granted).toBe(true)
    expect(await enter(login, id)).toBe('entered')
    const other = await createServiceLogin(admin, service.database.appUrl)
    await admin.unsafe(`alter role ${role} rename to ${role}_old; alter role ${other.role} rename to ${role}`)
    // A new name would void a password that is hashed with the old one.
    await admin.unsafe(`alter role ${role} password 'service'; alter role ${role}_old password 'service'`)
    expect(await enter(login, id), 'another role that got the name').toBe('TN403')
    expect(await enter(asLogin(login, `${role}_old`), id), 'the role under another name').toBe('TN403')
    await admin.unsafe(`drop role ${role}, ${role}_old`)
  })
})

describe('the commands on service keys', () => {
  const done = async (...words: string[]) => JSON.parse((await command(...words, '--json')).stdout).done
  const use = async (name: string, key: string) =>
    (
      await service.request('POST /v1/introspect', {
        headers: { authorization: basic(name, key) },
        body: { token: 'no token' },
      })
    ).status

  it('create a key, rotate it with an overlap, and revoke it, each from the next request on', async () => {
    const { key: first, ...shown } = await done('create-service-key', 'billing')
    expect(shown).toEqual({ name: 'billing', scopes: ['introspect', 'changes', 'memberships'] })
    expect(await use('billing', first)).toBe(200)
    expect((await command('create-service-key', 'billing')).stderr).toContain('The service billing has a key')
    const { key: second, previous_valid_until } = await done('rotate-service-key', 'billing')
    expect(Date.parse(previous_valid_until) - Date.now()).toBeLessThanOrEqual(24 * 3_600_000)
    expect([await use('billing', first), await use('billing', second)]).toEqual([200, 200])
    await service.sql`update app.service_keys set expires_at = now() where expires_at is not null`
    expect([await use('billing', first), await use('billing', second)]).toEqual([401, 200])
    const { key: third } = await done('rotate-service-key', 'billing', '--overlap', '0')
    expect([await use('billing', second), await use('billing', third)]).toEqual([401, 200])
    expect(await done('revoke-service-key', 'billing')).toEqual({ name: 'billing', revoked: 1 })
    expect(await use('billing', third)).toBe(401)
    for (const name of ['rotate-service-key', 'revoke-service-key'])
      expect((await command(name, 'billing')).stderr).toContain('The service billing has no valid key')
    const { keys } = await done('list-service-keys')
    expect(keys.map(({ status }: { status: string }) => status)).toEqual(['revoked', 'expired', 'expired'])
    expect(keys[0]).toMatchObject({
      created_by: LOCAL_CALLER,
      created_reason: REASON,
      ended_by: LOCAL_CALLER,
      ended_reason: REASON,
    })
    const { stdout } = await command('list-service-keys')
    expect(stdout).toContain('"name":"billing"')
    for (const key of [first, second, third]) expect(JSON.stringify(keys) + stdout).not.toContain(key)
    expect(await done('create-service-key', 'billing')).toMatchObject({ key: expect.stringMatching(/^[\w-]{43}$/) })
  })

  it('give a key the scopes that are named, keep them in a rotation, and list them', async () => {
    const read = async (name: string, key: string, path: string) =>
      (await service.request(`GET ${path}`, { headers: { authorization: basic(name, key) } })).status
    const scopes = ['changes', 'memberships']
    const created = await done('create-service-key', 'copy', '--scope', 'memberships', '--scope', 'changes')
    expect(created.scopes).toEqual(scopes)
    const rotated = await done('rotate-service-key', 'copy')
    expect(rotated.scopes).toEqual(scopes)
    for (const { key } of [created, rotated]) {
      expect(await use('copy', key)).toBe(403)
      for (const path of ['/v1/changes', '/v1/memberships']) expect(await read('copy', key, path)).toBe(200)
    }
    const { keys } = await done('list-service-keys')
    expect(keys.filter(({ name }: { name: string }) => name === 'copy')).toMatchObject([{ scopes }, { scopes }])
    for (const scope of ['everything', '', 'Changes', 'introspect,changes'])
      expect(await command('create-service-key', 'wrong', '--scope', scope), scope).toMatchObject({ code: 2 })
  })

  it('let one of two concurrent commands create the first key', async () => {
    const both = await Promise.all([1, 2].map(() => command('create-service-key', 'shipping')))
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 1])
  })

  it('reject a name that HTTP Basic could not send, and an overlap of more than 30 days', async () => {
    for (const words of [
      ['create-service-key', 'a:b'],
      ['create-service-key', 'Billing'],
      ['rotate-service-key', 'billing', '--overlap', '721'],
      ['rotate-service-key', 'billing', '--overlap', '-1'],
    ])
      expect(await command(...words), words.join(' ')).toMatchObject({ code: 2 })
  })
})
