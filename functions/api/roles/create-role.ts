import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { forbidden, invalid, Problem } from '#shared/base/problem.ts'
import { ListedRole } from '#shared/identity/listed-role.ts'
import { mayGive } from '#shared/identity/may-give.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { RoleCode } from '#shared/identity/role-code.ts'
import { isOwnerRole } from '#shared/identity/role.ts'
import { addPermissions, insertRole, requireRole } from './queries.ts'
import { requireFreeLabel } from './require-free-label.ts'
import { AddedPermissions, NewRoleCode, RoleLabel } from './tenant-role.ts'

const MOST_ROLES = 20

export const createRole = endpoint({
  route: 'POST /v1/roles',
  access: { permission: 'member.manage', exclusive: true, stepUp: true },
  summary: 'Create a role of the tenant: a role of the platform with more permissions',
  body: v.object({
    code: NewRoleCode,
    label: RoleLabel,
    based_on: RoleCode,
    add: AddedPermissions,
  }),
  reply: ListedRole,
  problems: ['role-exists', 'role-limit'],
  async handle(context) {
    const { body, principal, sql } = context
    const roles = await searchRoles(sql)
    const base = roles.find(({ code, tenant_role: own }) => code === body.based_on && !own)
    if (base === undefined) throw invalid([{ pointer: '#/based_on', code: 'unknown', kind: 'a role of the platform' }])
    if (isOwnerRole(base)) throw forbidden('the role of owners is no base')
    if (!mayGive(principal, { rank: base.rank, permissions: [...base.permissions, ...body.add] }))
      throw forbidden('the role would permit more than the principal may')
    if (roles.some(({ code }) => code === body.code))
      throw new Problem('role-exists', { detail: 'A role with this code exists.' })
    if (roles.filter(({ tenant_role: own }) => own).length >= MOST_ROLES)
      throw new Problem('role-limit', { detail: `A tenant has at most ${MOST_ROLES} roles of its own.` })
    await requireFreeLabel(sql, body.label)
    const id = await insertRole(sql, { code: body.code, label: body.label, base })
    await addPermissions(sql, id, body.add)
    const role = await requireRole(sql, id)
    await recordAudit(context, {
      action: 'role.created',
      targetId: null,
      after: { id, code: role.code, label: role.label, based_on: role.based_on, permissions: role.permissions },
    })
    return ok(role)
  },
})
