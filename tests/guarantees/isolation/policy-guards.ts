import { ACCOUNT_TABLES } from '#shared/doctor/catalogue-objects.ts'
import { definersGuarantee } from './function-guarantees.ts'
import { type Guard, NO_EVENT_TRIGGER, type Policy } from './guard.ts'
import type { Guarantee } from './guarantee.ts'
import { accountsGuarantee, operatorGuarantee, workerGuarantee } from './role-guarantees.ts'
import { vaultGuarantee } from './sealed-guarantees.ts'
import {
  everyTableGuarantee,
  exemptGuarantee,
  guaranteesOf,
  ownerGuarantee,
  partitionsGuarantee,
  tenantsGuarantee,
} from './table-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

/** Row security and the policies of each table. */
export function tableGuards(world: TwoTenants, policies: readonly Policy[]): Guard[] {
  const guards = world.tables.flatMap((table): Guard[] => {
    const { name, column } = table
    const { read, leak, copy, insert, update, remove, system, unset } = guaranteesOf(world, table)
    const orNull = `${column} = (select app.current_tenant()) or ${column} is null`
    const all = [read, leak, copy, insert, update, remove, system, unset]
    const ofTable = name === 'app.tenants' ? [tenantsGuarantee(world)] : [exemptGuarantee]
    const own = policies.filter(({ table, role }) => table === name && role === 'identity_app')
    return [
      [
        `${name}: ENABLE`,
        [`alter table ${name} disable row level security`],
        [...all, ...ofTable, everyTableGuarantee],
      ],
      [
        `${name}: FORCE`,
        [`alter table ${name} no force row level security`],
        [ownerGuarantee(world, table), everyTableGuarantee],
      ],
      ...policies
        .filter(({ table, role }) => table === name && role === 'identity_owner')
        .flatMap(({ policy }) =>
          [
            `drop policy ${policy} on ${name}`,
            ...['using', 'with check'].map((clause) => `alter policy ${policy} on ${name} ${clause} (true)`),
          ].map(
            (statement): Guard => [
              `${name}: the policy ${policy} (${statement})`,
              [statement],
              [ownerGuarantee(world, table)],
            ],
          ),
        ),
      ...own.flatMap(({ policy, command }): Guard[] => {
        const change = (to: string): string[] => [`alter policy ${policy} on ${name} ${to}`]
        const dropped = (needed: Guarantee[]): Guard => [
          `${name}: the policy ${policy}`,
          [`drop policy ${policy} on ${name}`],
          needed,
        ]
        const opened = (clause: string, condition: string, needed: Guarantee[]): Guard => [
          `${name}: the ${clause} of ${policy}, for ${condition}`,
          change(`${clause} (${condition})`),
          needed,
        ]
        const ofSelect = [dropped([read, copy]), opened('using', 'true', [read, leak, copy, unset])]
        const ofInsert = [
          dropped([insert]),
          opened('with check', 'true', [insert, system, unset]),
          opened('with check', orNull, [system]),
        ]
        const ofUpdate = [
          dropped([update]),
          opened('using', 'true', [update, unset]),
          opened('with check', 'true', [update, system]),
          opened('with check', orNull, [system]),
        ]
        const ofDelete = [dropped([remove]), opened('using', 'true', [remove, unset])]
        // Only a table with system rows can show that they are seen and changed.
        if (table.nullable) {
          ofSelect.push(opened('using', orNull, [unset]))
          ofUpdate.push(opened('using', orNull, [update, system]))
          ofDelete.push(opened('using', orNull, [remove, system]))
        }
        return { SELECT: ofSelect, INSERT: ofInsert, UPDATE: ofUpdate, DELETE: ofDelete }[command]
      }),
    ]
  })
  for (const name of world.partitions) {
    guards.push([
      `${name}: ENABLE, with a grant`,
      [NO_EVENT_TRIGGER, `alter table ${name} disable row level security`, `grant select on ${name} to identity_app`],
      [partitionsGuarantee(world), everyTableGuarantee, exemptGuarantee],
    ])
  }
  for (const name of ACCOUNT_TABLES) {
    guards.push(
      [`${name}: ENABLE`, [`alter table ${name} disable row level security`], [everyTableGuarantee, exemptGuarantee]],
      [`${name}: FORCE`, [`alter table ${name} no force row level security`], [everyTableGuarantee, exemptGuarantee]],
    )
  }
  for (const { table, policy, qual, check } of policies.filter(({ table }) => ACCOUNT_TABLES.includes(table))) {
    const change = (to: string): Guard => [
      `${table}: the policy ${policy} (${to})`,
      [to === 'dropped' ? `drop policy ${policy} on ${table}` : `alter policy ${policy} on ${table} ${to}`],
      [accountsGuarantee(world)],
    ]
    guards.push(change('dropped'))
    if ((qual ?? 'true') !== 'true') guards.push(change('using (true)'))
    // identity_app may write no column that the check of its policies compares: see authors.test.ts and dangerous-grants.test.ts. Of their
    // look at the mode, see hostile-sql/scopes.test.ts.
    if (check !== null && policy !== 'app_invitations' && policy !== 'app_tenant')
      guards.push(change('with check (true)'))
  }
  return guards
}

/** The policies of each role beside identity_app, and the tenant that they compare. */
export function roleGuards(world: TwoTenants, policies: readonly Policy[]): Guard[] {
  const policiesFor = (role: string) =>
    policies.filter((policy) => policy.role === role && !ACCOUNT_TABLES.includes(policy.table))

  /** Each policy of a role. */
  const dropped = (role: string, guarantee: Guarantee): Guard[] =>
    policiesFor(role).map(({ table, policy }) => [
      `${table}: the policy ${policy}`,
      [`drop policy ${policy} on ${table}`],
      [guarantee],
    ])

  /** The tenant, which a further policy of a role ignores. */
  const opened = (role: string, command: string, tables: readonly string[], guarantee: Guarantee): Guard[] =>
    tables.map((table) => {
      const clause = command === 'insert' ? 'with check' : 'using'
      return [
        `${table}: the tenant, for ${command} by ${role}`,
        [`create policy open on ${table} for ${command} to ${role} ${clause} (true)`],
        [guarantee, everyTableGuarantee],
      ]
    })

  return [
    ...dropped('identity_resolver', definersGuarantee(world)),
    ...dropped('identity_gate', definersGuarantee(world)),
    ...dropped('identity_worker', workerGuarantee(world)),
    ...dropped('identity_operator', operatorGuarantee(world)),
    ...policiesFor('identity_operator').flatMap(({ table, policy }): Guard[] => [
      [
        `${table}: the role of ${policy}`,
        [`alter policy ${policy} on ${table} to identity_operator, identity_app`],
        [
          ...world.tables.filter(({ name }) => name === table).map((of) => guaranteesOf(world, of).read),
          everyTableGuarantee,
        ],
      ],
      [
        `${table}: the SELECT of ${policy}`,
        [`drop policy ${policy} on ${table}`, `create policy ${policy} on ${table} to identity_operator using (true)`],
        // Operators hold no privilege but SELECT on memberships.
        table === 'app.memberships' ? [everyTableGuarantee] : [operatorGuarantee(world), everyTableGuarantee],
      ],
    ]),
    ...opened('identity_worker', 'all', ['app.tenants', 'app.vendor_prices'], workerGuarantee(world)),
    ...opened('identity_operator', 'update', ['app.tenants'], operatorGuarantee(world)),
    ...opened('identity_operator', 'insert', ['app.tenants', 'app.audit_log'], operatorGuarantee(world)),
    ...opened('identity_vault', 'select', ['app.data_keys', 'app.vendor_accounts'], vaultGuarantee(world)),
    ...opened('identity_vault', 'update', ['app.data_keys', 'app.vendor_accounts'], vaultGuarantee(world)),
    ...opened('identity_vault', 'insert', ['app.data_keys', 'app.audit_log'], vaultGuarantee(world)),
  ]
}
