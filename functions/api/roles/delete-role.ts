import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { Problem } from '#shared/base/problem.ts'
import { IntegerId } from '#shared/schema/id.ts'
import { ListedRole } from '#shared/identity/listed-role.ts'
import { changeableRole } from './changeable-role.ts'
import { hideRole, isInUse } from './queries.ts'

export const deleteRole = endpoint({
  route: 'DELETE /v1/roles/{id}',
  params: v.object({ id: IntegerId }),
  access: { permission: 'member.manage', exclusive: true, stepUp: true },
  summary: 'Delete a role of the tenant that nobody holds or is invited to',
  reply: ListedRole,
  etag: true,
  problems: ['role-in-use'],
  async handle(context) {
    const { ifMatch, params, principal, sql } = context
    const role = await changeableRole(sql, Number(params.id), principal)
    requireMatch(ifMatch, role)
    if (await isInUse(sql, role.id))
      throw new Problem('role-in-use', { detail: 'A member or an open invitation has this role.' })
    await hideRole(sql, role.id)
    await recordAudit(context, { action: 'role.deleted', targetId: null, before: { id: role.id, code: role.code } })
    return okWithEtag(role)
  },
})
