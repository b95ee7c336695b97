import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Permission, PERMISSIONS } from '#shared/identity/permissions.ts'
import { mailToken } from '#shared/identity/token.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { MAIL_KEY } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const RUNS = 60
const TIME_LIMIT_MS = 5_000
const PEOPLE = 5
const OWN_ROLES = 4

const service = useService({ env: { INVITE_TENANT_LIMIT: '1000000', INVITE_RESEND_SECONDS: '0' } })

type Held = ReadonlyMap<number, readonly string[]>

interface World {
  readonly id: string
  readonly slug: string
  readonly roles: readonly string[]
  readonly people: readonly { readonly email: string; readonly userId: string }[]
}

/** Creates a tenant with roles of its own. The first person is its owner, the next ones have these roles. */
async function build(added: readonly (readonly string[])[]): Promise<World> {
  const slug = `reach-${randomUUID().slice(0, 8)}`
  const [tenant] = await service.sql<{ id: string }[]>`
    insert into app.tenants (slug, legal_name, status) values (${slug}, 'Shop', 'active') returning id`
  const id = tenant?.id ?? ''
  const own: number[] = []
  for (const [index, permissions] of added.entries()) {
    const [role] = await service.sql<{ id: number }[]>`
      insert into app.roles (tenant_id, code, label, rank, based_on) values (${id}, ${`own-${index}`}, ${`Own ${index}`}, 10, 7) returning id`
    for (const permission of permissions)
      await service.sql`
        insert into app.role_permissions (tenant_id, role_id, permission) values (${id}, ${role?.id ?? 0}, ${permission})`
    own.push(role?.id ?? 0)
  }
  const people = await Promise.all(
    Array.from({ length: PEOPLE }, async (_, index) => {
      const email = `p${index}@${slug}.test`
      return { email, userId: await createUser(service.sql, { email }) }
    }),
  )
  // The last two are no members yet.
  for (const [index, roleId] of [1, ...own.slice(0, PEOPLE - 3)].entries())
    await service.sql`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      values (${id}, ${people[index]?.userId ?? ''}, ${roleId}, now())`
  return { id, slug, people, roles: ['viewer', 'admin', ...own.map((_, index) => `own-${index}`)] }
}

/** Returns what each member may. */
async function held({ id, people }: World): Promise<Held> {
  const rows = await service.sql<{ user_id: string; permissions: string[] }[]>`
    select m.user_id, r.permissions from app.memberships m join app.roles r on r.id = m.role_id
     where m.tenant_id = ${id} and m.accepted_at is not null and m.revoked_at is null`
  return new Map(
    rows.map(({ user_id, permissions }) => [people.findIndex(({ userId }) => userId === user_id), permissions]),
  )
}

const may = (held: Held, person: number, permission: string): boolean => {
  const permissions = held.get(person) ?? []
  return permissions.includes('*') || permissions.includes(permission)
}

interface Action {
  readonly kind: 'invite' | 'resend' | 'accept' | 'change' | 'remove' | 'own'
  readonly actor: number
  readonly target: number
  readonly role: number
}

/** Runs an action, and returns in whose name it gives a permission: the caller's, or the inviter's when it is accepted. */
async function act(world: World, { kind, actor, target, role }: Action): Promise<{ giver: number; status: number }> {
  const { id, slug, people, roles } = world
  const [by, of] = [people[actor], people[kind === 'own' ? actor : target]]
  if (by === undefined || of === undefined) throw new Error('no such person')
  const code = roles[role % roles.length] ?? ''
  const [open] = await service.sql<{ id: string; invited_by: string | null; nonce: string }[]>`
    select t.id, t.invited_by, j.payload ->> 'nonce' as nonce
      from app.tokens t join app.jobs j on j.tenant_id = t.tenant_id and j.payload ->> 'invitation_id' = t.id::text
     where t.tenant_id = ${id} and t.email = ${of.email} and t.consumed_at is null order by j.created_at desc limit 1`
  if (kind === 'accept') {
    const token = mailToken(MAIL_KEY, 'invite', open?.nonce ?? randomUUID())
    const { status } = await service.request('POST /v1/auth/invitations/accept', { body: { token } })
    return { giver: people.findIndex(({ userId }) => userId === open?.invited_by), status }
  }
  const { token } = await mintSession(service.sql, { email: by.email, slug })
  const [member] = await service.sql<{ id: string }[]>`
    select id from app.memberships where tenant_id = ${id} and user_id = ${of.userId} and accepted_at is not null`
  const path = `/v1/members/${open?.id ?? member?.id ?? randomUUID()}`
  const [route, body] = {
    invite: ['POST /v1/members/invite', { email: of.email, role: code }],
    resend: [`POST /v1/members/invitations/${open?.id ?? randomUUID()}/resend`, undefined],
    change: [`PATCH ${path}`, { role: code }],
    own: [`PATCH /v1/members/${member?.id ?? randomUUID()}`, { role: code }],
    remove: [`DELETE ${path}`, undefined],
  }[kind] as [string, object | undefined]
  const { status } = await service.request(route, { token, ...(body === undefined ? {} : { body }) })
  return { giver: actor, status }
}

const person = fc.nat(PEOPLE - 1)
const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom('invite', 'invite', 'resend', 'accept', 'accept', 'change', 'change', 'remove', 'own'),
  actor: person,
  target: person,
  role: fc.nat(OWN_ROLES + 1),
})
const ownRole = fc.tuple(fc.boolean(), fc.subarray(PERMISSIONS.filter((permission) => permission !== 'member.manage')))
const permissionsOf = ([manages, others]: readonly [boolean, readonly string[]]): readonly string[] =>
  manages ? others.concat('member.manage') : others

// The roles are viewer, admin and the four.
const EVERY_OUTCOME: [[boolean, Permission[]][], Action[]] = [
  [
    [true, []],
    [false, ['vendor.manage']],
    [false, []],
    [true, ['vendor.manage']],
  ],
  [
    { kind: 'invite', actor: 0, target: 3, role: 0 },
    { kind: 'accept', actor: 3, target: 3, role: 0 },
    { kind: 'invite', actor: 1, target: 4, role: 3 },
    { kind: 'change', actor: 1, target: 3, role: 2 },
    { kind: 'change', actor: 1, target: 3, role: 3 },
    { kind: 'own', actor: 1, target: 1, role: 5 },
    { kind: 'remove', actor: 1, target: 2, role: 0 },
    { kind: 'remove', actor: 1, target: 3, role: 0 },
  ],
]

it('gives nobody a permission that the person who gave it did not hold, and takes none away that its taker lacks', async () => {
  const seen = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(
      fc.array(ownRole, { minLength: OWN_ROLES, maxLength: OWN_ROLES }),
      fc.array(action, { minLength: 5, maxLength: 25 }),
      async (added, actions) => {
        const world = await build(added.map(permissionsOf))
        for (const each of actions) {
          const before = await held(world)
          const { giver, status } = await act(world, each)
          const after = await held(world)
          seen.set(`${each.kind} ${status}`, (seen.get(`${each.kind} ${status}`) ?? 0) + 1)
          for (let index = 0; index < PEOPLE; index += 1) {
            const gained = (after.get(index) ?? []).filter((permission) => !may(before, index, permission))
            const lost = (before.get(index) ?? []).filter((permission) => !may(after, index, permission))
            for (const permission of [...gained, ...lost])
              expect(may(before, giver, permission), `${JSON.stringify(each)}: ${permission} of ${index}`).toBe(true)
          }
        }
      },
    ),
    { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS, endOnFailure: true, examples: [EVERY_OUTCOME] },
  )
  for (const outcome of [
    'invite 200',
    'invite 403',
    'accept 200',
    'change 200',
    'change 403',
    'remove 200',
    'remove 403',
    'own 403',
  ])
    expect(seen.get(outcome) ?? 0, outcome).toBeGreaterThan(0)
})
