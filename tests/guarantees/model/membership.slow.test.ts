import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { mailToken } from '#shared/identity/token.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { MAIL_KEY } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const RUNS = 150
const TIME_LIMIT_MS = 15_000

const service = useService({ env: { INVITE_TENANT_LIMIT: '1000000' } })

const RANKS = { owner: 100, admin: 90, sales: 60, viewer: 10 } as const
type Role = keyof typeof RANKS

const mayManage = (role: Role): boolean => role === 'owner' || role === 'admin'

// The model: the part of a membership that determines responses.

interface Membership {
  role: Role
  status: 'active' | 'invited' | 'revoked'
}

interface Invitation {
  role: Role
  inviter: number
  state: 'open' | 'accepted' | 'gone'
}

/** One tenant: accepted memberships and newest invitations by the number of the person. */
interface Tenant {
  readonly memberships: Map<number, Membership>
  readonly invitations: Map<number, Invitation>
}

type OwnAction = { readonly kind: 'accept' | 'select'; readonly actor: number }
type RoleAction = {
  readonly kind: 'invite' | 'change role'
  readonly actor: number
  readonly target: number
  readonly role: Role
}
type RevokeAction = { readonly kind: 'revoke'; readonly actor: number; readonly target: number }
type Action = OwnAction | RoleAction | RevokeAction

const isOwn = (action: Action): action is OwnAction => action.kind === 'accept' || action.kind === 'select'

const activeRole = ({ memberships }: Tenant, person: number): Role | null => {
  const membership = memberships.get(person)
  return membership?.status === 'active' ? membership.role : null
}

const isLastOwner = (tenant: Tenant, person: number): boolean =>
  activeRole(tenant, person) === 'owner' &&
  [...tenant.memberships.keys()].every((other) => other === person || activeRole(tenant, other) !== 'owner')

/** Applies an action to the model. Returns the expected status. */
const predict = (tenant: Tenant, action: Action): number =>
  isOwn(action) ? predictOwn(tenant, action) : predictManaging(tenant, action)

function predictOwn(tenant: Tenant, { kind, actor }: OwnAction): number {
  const { memberships, invitations } = tenant
  if (kind === 'select') return activeRole(tenant, actor) === null ? 404 : 200
  const invitation = invitations.get(actor)
  if (invitation === undefined || invitation.state === 'gone') return 400
  if (invitation.state === 'accepted') return 200
  const inviter = activeRole(tenant, invitation.inviter)
  if (inviter === null || !mayManage(inviter) || RANKS[inviter] < RANKS[invitation.role]) return 400
  invitation.state = 'accepted'
  memberships.set(actor, { role: invitation.role, status: 'active' })
  return 200
}

function predictManaging(tenant: Tenant, action: RoleAction | RevokeAction): number {
  const { memberships, invitations } = tenant
  const { actor, target } = action
  const role = activeRole(tenant, actor)
  if (role === null) return 401
  if (!mayManage(role)) return 403
  const rank = RANKS[role]
  const membership = memberships.get(target)
  const newest = invitations.get(target)
  const open = newest?.state === 'open' ? newest : undefined
  if (action.kind === 'invite') {
    if (RANKS[action.role] > rank || (open !== undefined && RANKS[open.role] > rank)) return 403
    if (membership?.status === 'active') return 409
    invitations.set(target, { role: action.role, inviter: actor, state: 'open' })
    return 200
  }
  if (open !== undefined) {
    if (RANKS[open.role] > rank || (action.kind === 'change role' && RANKS[action.role] > rank)) return 403
    if (action.kind === 'revoke') open.state = 'gone'
    else if (open.role !== action.role) Object.assign(open, { role: action.role, inviter: actor })
    return 200
  }
  if (membership === undefined) return 404
  if (action.kind === 'change role') {
    if (membership.status === 'revoked') return 404
    if (RANKS[membership.role] > rank || RANKS[action.role] > rank) return 403
    if (action.role !== 'owner' && isLastOwner(tenant, target)) return 409
    membership.role = action.role
    return 200
  }
  if (RANKS[membership.role] > rank) return 403
  if (isLastOwner(tenant, target)) return 409
  membership.status = 'revoked'
  return 200
}

// The same actions against the service.

interface RealTenant {
  readonly id: string
  readonly slug: string
}

interface World {
  readonly tenants: readonly RealTenant[]
  readonly people: readonly { readonly email: string; readonly userId: string }[]
}

const PEOPLE = 5
/** The initial members: an owner of each tenant and an admin of both. */
const INITIAL: readonly (readonly [tenant: number, person: number, role: Role])[] = [
  [0, 0, 'owner'],
  [1, 1, 'owner'],
  [0, 2, 'admin'],
  [1, 2, 'admin'],
]

async function build(): Promise<World> {
  const { admin } = service.database
  const run = randomUUID().slice(0, 13)
  const people = await Promise.all(
    Array.from({ length: PEOPLE }, async (_, index) => {
      const email = `person${index}@${run}.test`
      return { email, userId: await createUser(admin, { email }) }
    }),
  )
  const tenants = await admin<RealTenant[]>`
    insert into app.tenants (slug, legal_name, status)
    select ${run} || '-' || n, 'Shop', 'active' from generate_series(0, 1) as n returning id, slug`
  for (const [tenant, person, role] of INITIAL) {
    await admin`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select ${tenants[tenant]?.id ?? ''}, ${people[person]?.userId ?? ''}, id, now() from app.roles where code = ${role}`
  }
  return { tenants, people }
}

/** The newest invitation of each address in each tenant. */
const newestInvitation = new Map<string, string>()

async function select(tenant: RealTenant, email: string): Promise<number> {
  const { token } = await mintSession(service.sql, { email })
  return (await service.request(`POST /v1/auth/tenants/${tenant.id}/select`, { token })).status
}

async function accept(tenant: RealTenant, email: string): Promise<number> {
  const [job] = await service.sql<{ nonce: string }[]>`
    select payload ->> 'nonce' as nonce from app.jobs
     where tenant_id = ${tenant.id} and payload ->> 'template' = 'invitation'
       and payload ->> 'invitation_id' = ${newestInvitation.get(`${tenant.id} ${email}`) ?? ''}
     order by created_at desc limit 1`
  const token = mailToken(MAIL_KEY, 'invite', job?.nonce ?? randomUUID())
  return (await service.request('POST /v1/auth/invitations/accept', { body: { token } })).status
}

async function act(world: World, tenant: RealTenant, action: Action): Promise<number> {
  const { admin } = service.database
  const person = (index: number) => world.people[index] ?? { email: '', userId: '' }
  const { email } = person(action.actor)
  if (isOwn(action)) return action.kind === 'select' ? select(tenant, email) : accept(tenant, email)
  const { token } = await mintSession(admin, { email, slug: tenant.slug })
  const target = person(action.target)
  if (action.kind === 'invite') {
    const body = { email: target.email, role: action.role }
    const answer = await service.request('POST /v1/members/invite', { token, body })
    if (answer.status === 200) newestInvitation.set(`${tenant.id} ${target.email}`, answer.body.id)
    return answer.status
  }
  const [member] = await admin<{ id: string }[]>`
    select id from app.tokens where tenant_id = ${tenant.id} and email = ${target.email} and consumed_at is null
    union all
    select id from app.memberships where tenant_id = ${tenant.id} and user_id = ${target.userId}`
  const path = `/v1/members/${member?.id ?? randomUUID()}`
  const answer =
    action.kind === 'revoke'
      ? await service.request(`DELETE ${path}`, { token })
      : await service.request(`PATCH ${path}`, { token, body: { role: action.role } })
  return answer.status
}

async function membershipsOf(world: World, { id }: RealTenant): Promise<Map<number, Membership>> {
  const rows = await service.sql<{ user_id: string; role: Role; status: Membership['status'] }[]>`
    select m.user_id, r.code as role,
           case when m.revoked_at is not null then 'revoked' when m.accepted_at is null then 'invited' else 'active' end as status
      from app.memberships m join app.roles r on r.id = m.role_id where m.tenant_id = ${id}`
  return new Map(
    rows
      .map(({ user_id, role, status }): [number, Membership] => [
        world.people.findIndex(({ userId }) => userId === user_id),
        { role, status },
      ])
      .toSorted(([one], [other]) => one - other),
  )
}

const person = fc.nat(PEOPLE - 1)
const role = fc.constantFrom<Role>('owner', 'admin', 'sales', 'viewer')
// The initial members act most often.
const actor = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(0, 1, 2) }, { weight: 1, arbitrary: person })
const actions: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('invite' as const), actor, target: person, role }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('accept' as const), actor: person }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('change role' as const), actor, target: person, role }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('revoke' as const), actor, target: person }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('select' as const), actor: person }) },
)
const step = fc.record({ tenant: fc.nat(1), action: actions })

// Every outcome has to occur.
const OUTCOMES = {
  invite: [200, 401, 403, 409],
  accept: [200, 400],
  'change role': [200, 401, 403, 404, 409],
  revoke: [200, 401, 403, 404, 409],
  select: [200, 404],
}

it('responds to any sequence of member actions in two tenants as the model of membership, rank and status predicts', async () => {
  const answered = new Map<string, number>()
  const missing = () =>
    Object.entries(OUTCOMES)
      .flatMap(([kind, statuses]) => statuses.map((status) => `${kind} ${status}`))
      .filter((outcome) => !answered.has(outcome))
  const explore = () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const world = await build()
        const model = world.tenants.map((): Tenant => ({ memberships: new Map(), invitations: new Map() }))
        for (const [tenant, index, held] of INITIAL)
          model[tenant]?.memberships.set(index, { role: held, status: 'active' })
        for (const { tenant, action } of steps) {
          const [modelled, real] = [model[tenant], world.tenants[tenant]]
          if (modelled === undefined || real === undefined) throw new Error('no such tenant')
          const expected = predict(modelled, action)
          expect(await act(world, real, action), JSON.stringify(action)).toBe(expected)
          answered.set(`${action.kind} ${expected}`, (answered.get(`${action.kind} ${expected}`) ?? 0) + 1)
        }
        for (const [index, real] of world.tenants.entries()) {
          const { memberships, invitations } = model[index] ?? { memberships: new Map(), invitations: new Map() }
          const outstanding = [...invitations].flatMap(([number, { role, state }]): [number, Membership][] =>
            state === 'open' ? [[number, { role, status: 'invited' }]] : [],
          )
          const expected = [...new Map([...outstanding, ...memberships])].toSorted(([one], [other]) => one - other)
          expect([...(await membershipsOf(world, real))]).toEqual(expected)
        }
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS, endOnFailure: true },
    )
  // A busy machine explores few sequences in its time.
  for (let turn = 0; turn === 0 || (turn < 4 && missing().length > 0); turn += 1) await explore()
  expect(missing()).toEqual([])
}, 120_000)
