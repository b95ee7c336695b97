import { expect, it } from 'vitest'
import { isTenantAccess } from '#shared/http/endpoint.ts'
import { EVERY_PERMISSION, PERMISSIONS } from '#shared/role/permissions.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { routes } from '#tests/support/routes.ts'

it('gives every permission of the list, and every one that an endpoint requires, to a role by name', async () => {
  const database = await createTestDatabase()
  const rows = await database.admin<{ permission: string }[]>`
    select distinct permission from app.role_permissions where permission <> ${EVERY_PERMISSION}`
  await database.drop()
  const held = rows.map(({ permission }) => permission)
  expect(held.toSorted()).toEqual(PERMISSIONS.toSorted())
  for (const { endpoint } of routes) {
    if (isTenantAccess(endpoint.access) && endpoint.access.permission !== null)
      expect(held, endpoint.route).toContain(endpoint.access.permission)
  }
})
