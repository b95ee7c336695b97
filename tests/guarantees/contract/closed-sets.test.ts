import { afterAll, expect, it } from 'vitest'
import { AUDIT_ACTIONS } from '#shared/audit/actions.ts'
import { isTenantAccess } from '#shared/http/access.ts'
import { EVERY_PERMISSION, mayKeysHold, PERMISSIONS } from '#shared/identity/permissions.ts'
import { LANGUAGES } from '#shared/schema/language.ts'
import { SERVICE_SCOPES } from '#shared/identity/service-key.ts'
import { TENANT_STATUSES } from '#shared/identity/tenant.ts'
import { ADAPTERS } from '#shared/suppliers/vendor.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { routes } from '#tests/support/routes.ts'

const database = createTestDatabase()
afterAll(async () => (await database).drop())

it('gives every permission of the list, and every one that an endpoint requires, to a role by name', async () => {
  const rows = await (await database).admin<{ permission: string }[]>`
    select distinct permission from app.role_permissions where permission <> ${EVERY_PERMISSION}`
  const held = rows.map(({ permission }) => permission)
  expect(held.toSorted()).toEqual(PERMISSIONS.toSorted())
  for (const { endpoint } of routes) {
    if (isTenantAccess(endpoint.access) && endpoint.access.permission !== null)
      expect(held, endpoint.route).toContain(endpoint.access.permission)
  }
})

it('lets API keys hold what the list says: a missing line is the row for app.key_permissions', async () => {
  const rows = await (await database).admin<{ permission: string }[]>`select permission from app.key_permissions`
  expect(new Set(rows.map(({ permission }) => `('${permission}')`))).toEqual(
    new Set(PERMISSIONS.filter(mayKeysHold).map((permission) => `('${permission}')`)),
  )
  for (const never of ['company.write', 'design.approve', 'member.manage', 'vendor.manage'] as const)
    expect(mayKeysHold(never), never).toBe(false)
})

it('publishes the actions that have an event, with its keys: a missing line is the row for app.event_actions', async () => {
  const rows = await (await database).admin<{ action: string; keys: string[] }[]>`
    select action, keys from app.event_actions`
  const rowOf = (action: string, keys: readonly string[]) => `('${action}', '{${keys.join(',')}}')`
  const published = Object.entries(AUDIT_ACTIONS).flatMap(([action, { event }]) => event && [rowOf(action, event)])
  expect(new Set(rows.map(({ action, keys }) => rowOf(action, keys)))).toEqual(
    new Set(published.filter((row) => row !== null)),
  )
})

it.each([
  ['app.tenants', 'status', TENANT_STATUSES],
  ['app.users', 'language', LANGUAGES],
  ['app.vendors', 'adapter', Object.keys(ADAPTERS)],
  ['app.service_keys', 'scopes', SERVICE_SCOPES],
])('stores in %s.%s the values that the code has, and no other', async (table, column, values) => {
  const [check] = await (await database).admin<{ text: string }[]>`
    select pg_get_constraintdef(c.oid) as text from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and c.conkey = array[a.attnum]
     where c.contype = 'c' and c.conrelid = ${table}::regclass and a.attname = ${column}`
  const stored = Array.from((check?.text ?? '').matchAll(/'([^']+)'/g), ([, value = '']) => value)
  expect(new Set(stored)).toEqual(new Set(values))
})
