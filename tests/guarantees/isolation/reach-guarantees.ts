import assert from 'node:assert/strict'
import { ticketOf } from '#tests/support/proof.ts'
import { as, attempt, enterTenant, type FunctionGuarantees, type Guarantee } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** The triggers that compare a changed role with that of the actor. Requires a connection that may become any role. */
const changedRolesGuarantee = ({ own, sessions, users }: TwoTenants): Guarantee => ({
  title:
    'guarantee 6: a person makes and changes only roles that they may give, and adds only permissions that they hold',
  holds: async (sql) => {
    const ids: Record<string, number> = {}
    await as(sql, 'none', async () => {
      // The fixture drops every trigger.
      await sql.unsafe(`
        create trigger collects before insert or update on app.roles for each row execute function app.collect_permissions();
        create trigger keeps before insert or update of label, based_on, deleted_at on app.roles
          for each row execute function app.keep_role_within_reach();
        create trigger keeps before insert or delete on app.role_permissions
          for each row execute function app.keep_permission_within_reach()`)
      await enterTenant(sql, null)
      for (const [code, base, ...added] of [
        ['manager', '7', 'member.manage', 'vendor.manage'],
        ['lower', '7', 'vendor.manage'],
        ['higher', '7', 'vendor.manage', 'company.write'],
        ['ranked', '6'],
      ]) {
        const [role] = await sql<{ id: number }[]>`
          insert into app.roles (tenant_id, code, label, rank, based_on)
          select ${own}, ${code ?? ''}, ${code ?? ''}, rank, id from app.roles where id = ${Number(base)} returning id`
        const id = role?.id ?? 0
        for (const permission of added)
          await sql`insert into app.role_permissions (tenant_id, role_id, permission) values (${own}, ${id}, ${permission})`
        await sql`update app.roles set label = label where id = ${id}`
        ids[code ?? ''] = id
      }
      await sql`
        update app.memberships set role_id = ${ids['manager'] ?? 0} where user_id = ${users[0]?.id ?? null} and tenant_id = ${own}`
    })
    const ticket = await as(sql, 'none', () => ticketOf(sql, sessions.own))
    await sql`select app.enter_to_write(${ticket}, 'member.manage', false)`
    const expectOf = async (code: string, statement: string) =>
      assert.equal((await attempt(sql, statement)).code, code, statement)
    const add = (role: string, permission: string) =>
      `insert into app.role_permissions (tenant_id, role_id, permission) values ('${own}', ${ids[role]}, '${permission}')`
    const take = (role: string) =>
      `delete from app.role_permissions where role_id = ${ids[role]} and permission = 'vendor.manage'`
    const make = (base: number, rank: number) =>
      `insert into app.roles (tenant_id, code, label, rank, based_on) values ('${own}', 'made', 'made', ${rank}, ${base})`
    await expectOf('', add('lower', 'member.manage'))
    await expectOf('TN430', add('lower', 'company.write'))
    await expectOf('TN430', add('manager', 'company.write'))
    await expectOf('TN430', add('higher', 'member.manage'))
    await expectOf('TN430', add('ranked', 'member.manage'))
    await expectOf('', take('lower'))
    await expectOf('TN430', take('higher'))
    for (const change of ["label = 'y'", 'deleted_at = now()']) {
      await expectOf('', `update app.roles set ${change} where id = ${ids['lower']}`)
      await expectOf('TN430', `update app.roles set ${change} where id = ${ids['higher']}`)
      await expectOf('TN430', `update app.roles set ${change} where id = ${ids['ranked']}`)
    }
    await expectOf('', make(7, 10))
    await expectOf('TN430', make(6, 40))
    await expectOf('TN430', make(2, 90))
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  keep_role_within_reach: changedRolesGuarantee,
  keep_permission_within_reach: changedRolesGuarantee,
}
