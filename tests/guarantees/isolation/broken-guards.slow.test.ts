import { AssertionError } from 'node:assert'
import { afterAll, describe, expect, test } from 'vitest'
import { definerGuarantee } from './function-guarantees.ts'
import { functionGuards } from './function-guards.ts'
import { actorGuarantee, sealGuarantee } from './gate-guarantees.ts'
import { bodiesOf, CURRENT_TENANT, type Guard, policiesOf, replaced } from './guard.ts'
import { holdsAfter } from './guarantee.ts'
import { invitationsGuarantee, liveSessionsGuarantee } from './member-guarantees.ts'
import { credentialGuarantee } from './passkey-guarantees.ts'
import { roleGuards, tableGuards } from './policy-guards.ts'
import { everyTableGuarantee, guaranteesOf } from './table-guarantees.ts'
import { createTwoTenants } from './two-tenants.ts'

// A test that never fails proves nothing. So each guard is removed here, alone, and a guarantee must break.
const world = await createTwoTenants('every one')
const { admin } = world
const policies = await policiesOf(admin)
const bodies = await bodiesOf(admin)
const [views] = await admin<{ invitations: string; live: string }[]>`
  select pg_get_viewdef('app.invitations'::regclass) as invitations, pg_get_viewdef('app.live_sessions'::regclass) as live`
const definitionOf = (body: string) => bodies.find(({ name }) => name === body)?.definition ?? ''
const currentTenant = definitionOf('current_tenant')
const asksSecondFactor = definitionOf('asks_second_factor')

afterAll(() => world.close())

const guards: readonly Guard[] = [
  ...tableGuards(world, policies),
  [
    'the nullif of current_tenant',
    [`${CURRENT_TENANT} return substr(current_setting('app.scope', true), 3, 32)::uuid`],
    world.tables.map((table) => guaranteesOf(world, table).unset),
  ],
  [
    'the null of current_tenant while no tenant is set',
    [
      `${CURRENT_TENANT} return coalesce(nullif(substr(current_setting('app.scope', true), 3, 32), ''), '${world.own}')::uuid`,
    ],
    world.tables.map((table) => guaranteesOf(world, table).unset),
  ],
  [
    'the security_invoker of live_sessions',
    ['alter view app.live_sessions set (security_invoker = false)'],
    [liveSessionsGuarantee(world), everyTableGuarantee],
  ],
  [
    'the security_invoker of live_sessions, with a superuser as owner',
    ['alter view app.live_sessions set (security_invoker = false)', 'alter view app.live_sessions owner to postgres'],
    // identity_gate alone reads the view, and its policies show it every row.
    [everyTableGuarantee],
  ],
  ...[
    `create or replace view app.live_sessions with (security_invoker = true) as ${replaced(
      views?.live ?? '',
      'asks_second_factor(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions)',
      'false',
    )}`,
    replaced(asksSecondFactor, /RETURN (.*)/.exec(asksSecondFactor)?.[1] ?? '', 'false'),
  ].map(
    (statement, at): Guard => [
      `the policy on second factors, ${at === 0 ? 'in live_sessions' : 'from its date on'}`,
      [statement],
      ['authenticate', 'enter', 'introspect'].map((reader) => definerGuarantee(world, reader)),
    ],
  ),
  ...['', ', add unique (user_id, credential_id)'].map(
    (instead): Guard => [
      `factors_credential_id_key${instead}`,
      [`alter table app.factors drop constraint factors_credential_id_key${instead}`],
      [credentialGuarantee(world)],
    ],
  ),
  ...roleGuards(world, policies),
  ...functionGuards(world, bodies),
  ['audit_log: its actor', ['drop policy actor_insert on app.audit_log'], [actorGuarantee(world)]],
  [
    'the user of a ticket as its actor',
    [`create or replace function app.current_actor() returns uuid language sql stable return null::uuid`],
    [actorGuarantee(world)],
  ],
  [
    'the length of a scope',
    [replaced(currentTenant, 'pg_catalog.length(v_scope) operator(pg_catalog.=) 66', 'true')],
    [sealGuarantee(world)],
  ],
  ...[
    `(purpose = 'invite'::text)`,
    '(consumed_at IS NULL)',
    '(tenant_id = ( SELECT current_tenant() AS current_tenant))',
  ].map(
    (condition): Guard => [
      `app.invitations: ${condition}`,
      [
        `create or replace view app.invitations with (security_invoker = true) as ${replaced(
          views?.invitations ?? '',
          condition,
          'true',
        )}`,
        // The policy has two of the conditions too.
        'alter policy app_invitations on app.tokens using (true)',
      ],
      [invitationsGuarantee(world)],
    ],
  ),
  [
    'the security_invoker of invitations',
    ['alter view app.invitations set (security_invoker = false)'],
    [everyTableGuarantee],
  ],
]

describe.each(guards)('without %s', (_guard, statements, needed) => {
  test.each(needed)('breaks: $title', async (guarantee) => {
    await holdsAfter(admin, [], guarantee)
    await expect(holdsAfter(admin, statements, guarantee)).rejects.toThrow(AssertionError)
  })
})

test('every policy is removed in some test', () => {
  const text = guards.map(([guard]) => guard).join('\n')
  for (const { table, policy } of policies) expect(text).toContain(`${table}: the policy ${policy}`)
})
