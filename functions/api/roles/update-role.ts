import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { forbidden } from '#shared/base/problem.ts'
import { IntegerId } from '#shared/schema/id.ts'
import { ListedRole } from '#shared/identity/listed-role.ts'
import { holdsAll } from '#shared/identity/permissions.ts'
import { changeableRole } from './changeable-role.ts'
import { replaceAdded, requireRole, setLabel } from './queries.ts'
import { requireFreeLabel } from './require-free-label.ts'
import { AddedPermissions, RoleLabel } from './tenant-role.ts'

export const updateRole = endpoint({
  route: 'PATCH /v1/roles/{id}',
  params: v.object({ id: IntegerId }),
  access: { permission: 'member.manage', exclusive: true, stepUp: true },
  summary: 'Change the label of a role of the tenant, or replace the permissions that it adds',
  revokes: true,
  body: v.object({ label: v.optional(RoleLabel), add: v.optional(AddedPermissions) }),
  reply: ListedRole,
  etag: true,
  async handle(context) {
    const { body, ifMatch, params, principal, sql } = context
    const role = await changeableRole(sql, Number(params.id), principal)
    requireMatch(ifMatch, role)
    if (body.add !== undefined && !holdsAll(principal.permissions, body.add))
      throw forbidden('the role would permit more than the principal may')
    if (body.label !== undefined) await requireFreeLabel(sql, body.label, role.id)
    if (body.label !== undefined) await setLabel(sql, role.id, body.label)
    if (body.add !== undefined) await replaceAdded(sql, role.id, body.add)
    const changed = await requireRole(sql, role.id)
    await recordAudit(context, {
      action: 'role.changed',
      targetId: null,
      before: { id: role.id, label: role.label, permissions: role.permissions },
      after: { id: role.id, label: changed.label, permissions: changed.permissions },
    })
    return okWithEtag(changed)
  },
})
