import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CreateKeyCommand } from '@aws-sdk/client-kms'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Command, isKeyCommand } from '#functions/operate/commands.ts'
import { job } from '#functions/operate/job.ts'
import { type Instruction, receive } from '#functions/operate/instruction.ts'
import { operate, operateKeys } from '#functions/operate/operate.ts'
import { functionArn, liveArn, startLambda } from '#infra/local/aws/lambda.ts'
import { LOCAL_CALLER, startSts } from '#infra/local/aws/sts.ts'
import { operate as commandLine } from '#infra/tools/operate.ts'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import type { Sql } from '#shared/db/connect.ts'
import { proofOfOperator } from '#functions/operate/queries.ts'
import { mayBecome, type TenantStatus } from '#shared/tenant/tenant.ts'
import postgres from 'postgres'
import * as v from 'valibot'
import { connectTo } from '#tests/support/access.ts'
import { type Finished, runCommandLine } from '#tests/support/command-line.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { INSTRUCTION, signedCommand } from '#tests/support/operator.ts'
import { basic } from '#tests/support/service-key.ts'
import { createServiceLogin, type ServiceLogin } from '#tests/support/service-login.ts'
import { MAIL_KEY, PASSWORD, PEPPER, startService, type TestService } from '#tests/support/service.ts'

let service: TestService
let run: (command: object) => Promise<any>
let invoke: (event: unknown) => Promise<any>
/** Runs the command line; `command` also gives the reason. */
let cli: Run
let command: Run
type Run = (...words: string[]) => Promise<Finished>
const closers: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  service = await startService()
  const invocations = new Map((['deliver-mail', 'publish-events'] as const).map((job) => [job, async () => {}]))
  const database = connectTo(service.database.operatorUrl, { connections: 2, prepare: true }, invocations)
  const { config, vault } = service.runtime
  const worker = { config, database, pepper: PEPPER, mailKey: MAIL_KEY, vault }
  const perform = (given: Command, instruction: Instruction) =>
    isKeyCommand(given)
      ? operateKeys(worker, given, { ...instruction, vault, shouldStop: () => false })
      : operate(worker, given, instruction)
  run = async (given) => perform(v.parse(Command, given), INSTRUCTION)
  invoke = async (event) => {
    const context = { ...lambdaContext, functionName: 'operate', invokedFunctionArn: liveArn('operate') }
    const received = await receive(event, context)
    return 'command' in received ? perform(received.command, received.instruction) : received
  }
  const sts = await startSts()
  vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url)
  const lambda = await startLambda()
  lambda.serve('operate', { job, invoke })
  const stateDir = await mkdtemp(join(tmpdir(), 'tenantry-operate-'))
  await writeFile(join(stateDir, 'stack.json'), JSON.stringify({ lambda_url: lambda.url }))
  command = (...words) => cli(...words, '--reason', REASON)
  vi.stubEnv('STATE_DIR', stateDir)
  cli = (...words) => runCommandLine((output) => commandLine(words, output))
  closers.push(
    () => lambda.close(),
    () => sts.close(),
    () => database.close(),
    () => rm(stateDir, { recursive: true }),
    () => service.close(),
  )
})
afterAll(async () => {
  for (const close of closers) await close()
})

const REASON = 'Asked for by the owner, ticket 4711'
const ARN = 'arn:aws:kms:us-east-1:000000000000:key/0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'

const auditOf = async (slug: string) =>
  (
    await service.database.admin`
      select a.action from app.audit_log a join app.tenants t on t.id = a.tenant_id where t.slug = ${slug} order by a.occurred_at`
  ).map((row) => row['action'])

describe('create-tenant', () => {
  it('creates a tenant whose first owner is invited and accepts', async () => {
    const made = await command(
      'create-tenant',
      '--slug',
      'carol-caps',
      '--name',
      'Carol Caps',
      '--owner',
      'carol@caps.test',
    )
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toMatch(/slug: carol-caps\nstatus: trial/)
    expect(await service.mail.deliver()).toBe(1)
    const token = tokenIn(service.mail.to('carol@caps.test')[0])
    const accepted = await service.request('POST /v1/auth/invitations/accept', { body: { token, password: PASSWORD } })
    expect(accepted.body).toMatchObject({ tenant: { slug: 'carol-caps' }, role: 'owner', account_created: true })
    const session = await service.request('GET /v1/auth/session', {
      token: await service.signIn('carol@caps.test', 'carol-caps'),
    })
    expect(session.body).toMatchObject({ tenant: { status: 'trial' }, role: { code: 'owner' } })
    expect(await auditOf('carol-caps')).toEqual([
      'tenant.created',
      'invitation.created',
      'membership.accepted',
      'session.tenant_selected',
    ])
  })

  it('refuses a name of more than one line', async () => {
    for (const name of ['Line\nSet-Cookie: x', 'Acme \u202e Print']) {
      const made = { command: 'create-tenant', slug: 'lines', name, owner: 'x@x.test' }
      expect(await invoke(await signedCommand('operate', made))).toHaveProperty('invalid')
      const insert = service.sql`insert into app.tenants (slug, legal_name) values ('lines', ${name})`
      await expect(insert).rejects.toMatchObject({ constraint_name: 'one_line_check' })
    }
  })

  it('refuses a slug that exists in another case, and leaves nothing behind', async () => {
    await service.mail.deliver()
    const refused = await command(
      'create-tenant',
      '--slug',
      'ACME-print',
      '--name',
      'X',
      '--owner',
      'x@x.test',
      '--json',
    )
    expect(refused.code).toBe(1)
    expect(JSON.parse(refused.stdout)).toEqual({ refused: 'The slug ACME-print is taken' })
    expect(await service.database.admin`select from app.tokens where email = 'x@x.test'`).toHaveLength(0)
    expect(await service.mail.deliver()).toBe(0)
  })

  it('resends an open invitation and invalidates the first link', async () => {
    await run({ command: 'create-tenant', slug: 'dora', name: 'Dora', owner: 'dora@dora.test' })
    const first = await service.mail.tokenFor('dora@dora.test')
    expect(await command('resend-invite', 'DORA', 'Dora@dora.test')).toMatchObject({ code: 0 })
    const second = await service.mail.tokenFor('dora@dora.test')
    const inspect = async (token: string) =>
      (await service.request('POST /v1/auth/invitations/inspect', { body: { token } })).status
    expect([await inspect(first), await inspect(second)]).toEqual([400, 200])
    expect(await command('resend-invite', 'dora', 'nobody@dora.test')).toMatchObject({ code: 1 })
  })
})

describe('set-status', () => {
  const STATUSES: readonly TenantStatus[] = ['trial', 'active', 'past_due', 'suspended', 'cancelled']
  const ALLOWED: Readonly<Record<TenantStatus, readonly TenantStatus[]>> = {
    trial: ['active', 'past_due', 'suspended', 'cancelled'],
    active: ['past_due', 'suspended', 'cancelled'],
    past_due: ['active', 'suspended', 'cancelled'],
    suspended: ['active', 'cancelled'],
    cancelled: [],
  }

  it.each(STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const)))(
    'allows a change from %s to %s exactly if the transition is listed',
    async (from, to) => {
      await service.database.admin`update app.tenants set status = ${from} where slug = 'bolt-apparel'`
      const outcome = await run({ command: 'set-status', slug: 'bolt-apparel', status: to })
      const [tenant] = await service.database.admin`select status from app.tenants where slug = 'bolt-apparel'`
      const allowed = ALLOWED[from].includes(to)
      expect('done' in outcome).toBe(allowed)
      expect(mayBecome(from, to)).toBe(allowed)
      expect(tenant?.['status']).toBe(allowed ? to : from)
    },
  )

  it('ends every session of a suspended tenant and no other, and the tenant can no longer be selected', async () => {
    await service.database.admin`update app.tenants set status = 'active' where slug = 'bolt-apparel'`
    const inside = await service.signIn('owner@bolt.test', 'bolt-apparel')
    const elsewhere = await service.signIn('both@shops.test', 'acme-print')
    const outcome = await command('set-status', 'bolt-apparel', 'suspended', '--json')
    expect(JSON.parse(outcome.stdout).done).toMatchObject({ status: 'suspended', sessions_revoked: 1 })
    const status = async (token: string) => (await service.request('GET /v1/auth/session', { token })).status
    expect([await status(inside), await status(elsewhere)]).toEqual([401, 200])
    await expect(service.signIn('owner@bolt.test', 'bolt-apparel')).rejects.toThrow('404')
  })
})

describe('grant-service-tenant and revoke-service-tenant', () => {
  /** Enters a tenant as another service, and returns how to end its transaction. Rejects when it may not. */
  async function enterAs({ url }: ServiceLogin, tenant: string): Promise<() => Promise<void>> {
    const sql = postgres(url, { max: 1, fetch_types: false })
    try {
      await sql.unsafe('begin')
      await sql`select app.enter_as_service(${tenant})`
    } catch (error) {
      await sql.end()
      throw error
    }
    return async () => {
      await sql.unsafe('commit')
      await sql.end()
    }
  }

  it('let a service enter a tenant until the grant is revoked or the tenant closed, and both wait for its work', async () => {
    const { admin } = service.database
    const login = await createServiceLogin(admin, service.database.appUrl)
    const { role } = login
    const { id, slug } = await service.newTenant('owner')
    const other = await service.newTenant('owner')
    const refused = { code: 'TN403' }
    const grant = () => command('grant-service-tenant', role, slug, '--json')
    await expect(enterAs(login, id)).rejects.toMatchObject(refused)
    expect(JSON.parse((await grant()).stdout).done).toMatchObject({ role, slug, granted: true })
    expect(JSON.parse((await grant()).stdout).done).toMatchObject({ granted: false })
    await expect(enterAs(login, other.id)).rejects.toMatchObject(refused)
    for (const [close, open] of [
      [
        ['revoke-service-tenant', role, slug],
        ['grant-service-tenant', role, slug],
      ],
      [
        ['set-status', slug, 'suspended'],
        ['set-status', slug, 'active'],
      ],
    ] as const) {
      const end = await enterAs(login, id)
      let closed = false
      const closing = command(...close).then((outcome) => {
        closed = true
        return outcome
      })
      await vi.waitFor(async () => {
        const [waiting] = await admin`
          select from pg_stat_activity where datname = current_database() and usename = 'identity_operator' and wait_event_type = 'Lock'`
        expect(waiting).toBeDefined()
      })
      expect(closed, close[0]).toBe(false)
      await end()
      expect(await closing).toMatchObject({ code: 0 })
      await expect(enterAs(login, id)).rejects.toMatchObject(refused)
      expect(await command(...open)).toMatchObject({ code: 0 })
      await (await enterAs(login, id))()
    }
    const entries = (await auditOf(slug)).filter((action) => action.startsWith('service.'))
    const [granted, entered, revoked] = ['service.granted', 'service.entered', 'service.revoked']
    expect(entries).toEqual([granted, entered, revoked, granted, entered, entered, entered])
    for (const login of ['identity_app', 'tenant_bound', 'nobody'])
      expect((await command('grant-service-tenant', login, slug)).stderr).toContain(`There is no login ${login}`)
    await admin.unsafe(`drop role ${role}`)
  })
})

describe('the commands on service keys', () => {
  const done = async (...words: string[]) => JSON.parse((await command(...words, '--json')).stdout).done
  const use = async (name: string, key: string) =>
    (
      await service.request('POST /v1/introspect', {
        headers: { authorization: basic(name, key) },
        body: { token: 'no token' },
      })
    ).status

  it('create a key, rotate it with an overlap, and revoke it, each from the next request on', async () => {
    const { key: first, ...shown } = await done('create-service-key', 'billing')
    expect(shown).toEqual({ name: 'billing' })
    expect(await use('billing', first)).toBe(200)
    expect((await command('create-service-key', 'billing')).stderr).toContain('The service billing has a key')
    const { key: second, previous_valid_until } = await done('rotate-service-key', 'billing')
    expect(Date.parse(previous_valid_until) - Date.now()).toBeLessThanOrEqual(24 * 3_600_000)
    expect([await use('billing', first), await use('billing', second)]).toEqual([200, 200])
    await service.sql`update app.service_keys set expires_at = now() where expires_at is not null`
    expect([await use('billing', first), await use('billing', second)]).toEqual([401, 200])
    const { key: third } = await done('rotate-service-key', 'billing', '--overlap', '0')
    expect([await use('billing', second), await use('billing', third)]).toEqual([401, 200])
    expect(await done('revoke-service-key', 'billing')).toEqual({ name: 'billing', revoked: 1 })
    expect(await use('billing', third)).toBe(401)
    for (const name of ['rotate-service-key', 'revoke-service-key'])
      expect((await command(name, 'billing')).stderr).toContain('The service billing has no valid key')
    const { keys } = await done('list-service-keys')
    expect(keys.map(({ status }: { status: string }) => status)).toEqual(['revoked', 'expired', 'expired'])
    expect(keys[0]).toMatchObject({
      created_by: LOCAL_CALLER,
      created_reason: REASON,
      ended_by: LOCAL_CALLER,
      ended_reason: REASON,
    })
    const { stdout } = await command('list-service-keys')
    expect(stdout).toContain('"name":"billing"')
    for (const key of [first, second, third]) expect(JSON.stringify(keys) + stdout).not.toContain(key)
    expect(await done('create-service-key', 'billing')).toMatchObject({ key: expect.stringMatching(/^[\w-]{43}$/) })
  })

  it('let one of two concurrent commands create the first key', async () => {
    const both = await Promise.all([1, 2].map(() => command('create-service-key', 'shipping')))
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 1])
  })

  it('reject a name that HTTP Basic could not send, and an overlap of more than 30 days', async () => {
    for (const words of [
      ['create-service-key', 'a:b'],
      ['create-service-key', 'Billing'],
      ['rotate-service-key', 'billing', '--overlap', '721'],
      ['rotate-service-key', 'billing', '--overlap', '-1'],
    ])
      expect(await command(...words), words.join(' ')).toMatchObject({ code: 2 })
  })
})

describe('disable-user and enable-user', () => {
  it('voids the reset links of a disabled user for good', async () => {
    const email = 'designer@bolt.test'
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    const token = await service.mail.tokenFor(email)
    for (const name of ['disable-user', 'enable-user']) expect(await command(name, email)).toMatchObject({ code: 0 })
    const body = { token, password: 'a passphrase of the reset' }
    expect((await service.request('POST /v1/auth/password/reset', { body })).status).toBe(400)
  })

  it('ends every session of a disabled user and refuses sign-in until the user is enabled', async () => {
    const token = await service.signIn('sales@acme.test', 'acme-print')
    expect(await command('disable-user', 'SALES@acme.test')).toMatchObject({ code: 0 })
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(401)
    await expect(service.signIn('sales@acme.test')).rejects.toThrow('401')
    expect(await command('enable-user', 'sales@acme.test')).toMatchObject({ code: 0 })
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(401)
    await service.signIn('sales@acme.test', 'acme-print')
    expect((await auditOf('acme-print')).filter((action) => String(action).startsWith('user.'))).toEqual([
      'user.disabled',
      'user.enabled',
    ])
    expect(await command('disable-user', 'nobody@nowhere.test')).toMatchObject({ code: 1 })
  })

  it('records nothing in a tenant that only invited the user', async () => {
    const { slug, owner } = await service.newTenant('owner')
    const body = { email: 'viewer@acme.test', role: 'viewer' }
    await service.request('POST /v1/members/invite', { token: owner.token, body })
    for (const name of ['disable-user', 'enable-user'])
      expect(await command(name, body.email)).toMatchObject({ code: 0 })
    expect(await auditOf(slug)).toEqual(['invitation.created'])
  })
})

describe('the last owner who can sign in', () => {
  const owners = async (slug: string) =>
    service.database.admin`
      select u.email from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
       where t.slug = ${slug} and m.role_id = 1 and m.accepted_at is not null and m.revoked_at is null and u.disabled_at is null`

  /** Makes a tenant whose only owners are those asked for: its founder is disabled. */
  const newTenant = async (second: 'admin' | 'owner') => {
    const { slug, id, owner, admin } = await service.newTenant('owner', 'admin')
    await service.database.admin`update app.users set disabled_at = now() where email = ${`founder@${slug}.test`}`
    if (second === 'owner')
      await service.database.admin`update app.memberships set role_id = 1 where id = ${admin.membershipId}`
    return { slug, id, owner, other: admin }
  }

  it('is disabled only with --force, and the refusal names every tenant that would lose them', async () => {
    const { slug, owner } = await newTenant('admin')
    const email = `owner@${slug}.test`
    const refused = await command('disable-user', email)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(slug) })
    expect((await service.request('GET /v1/auth/session', { token: owner.token })).status).toBe(200)
    const forced = await command('disable-user', email, '--force', '--json')
    expect(JSON.parse(forced.stdout).done).toMatchObject({ disabled: true, tenants_without_owner: [slug] })
  })

  it.each(['a stranger', 'a member'])('is replaced by invite-owner: %s becomes the owner', async (who) => {
    const { slug, other } = await newTenant('admin')
    const email = who === 'a member' ? `admin@${slug}.test` : `new@${slug}.test`
    expect(await command('invite-owner', slug, email)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/can sign in/),
    })
    await command('disable-user', `owner@${slug}.test`, '--force')
    // An admin's own invitation must not keep the owner's role from the address.
    if (who !== 'a member')
      await service.request('POST /v1/members/invite', { token: other.token, body: { email, role: 'viewer' } })
    expect(await command('invite-owner', slug, email)).toMatchObject({ code: 0 })
    const token = await service.mail.tokenFor(email)
    const accepted = await service.request('POST /v1/auth/invitations/accept', { body: { token, password: PASSWORD } })
    expect(accepted.body).toMatchObject({ tenant: { slug }, role: 'owner' })
    expect(await owners(slug)).toEqual([{ email }])
    expect(await auditOf(slug)).toContain('invitation.created')
  })

  const lockIsAwaited = () =>
    vi.waitUntil(async () => {
      const waiting = await service.database.admin`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
  it('is not disabled while another owner gives up their role', async () => {
    const { slug, other } = await newTenant('owner')
    const disabled = await service.database.admin.begin(async (sql) => {
      await sql`update app.memberships set role_id = 2 where id = ${other.membershipId}`
      const disabling = run({ command: 'disable-user', email: `owner@${slug}.test` })
      await lockIsAwaited()
      return { disabling }
    })
    expect(await disabled.disabling).toMatchObject({ refused: expect.stringContaining(slug) })
    expect(await owners(slug)).toHaveLength(1)
  })

  it('keeps their role while another owner is disabled', async () => {
    const { slug, id, owner, other } = await newTenant('owner')
    const demoted = await service.database.admin.begin(async (sql) => {
      await sql`select from app.tenants where id = ${id} for no key update`
      await sql`update app.users set disabled_at = now() where id = ${owner.userId}`
      const route = `PATCH /v1/members/${other.membershipId}`
      const demoting = service.request(route, { token: other.token, body: { role: 'viewer' } })
      await lockIsAwaited()
      return { demoting }
    })
    expectProblem(await demoted.demoting, 'last-owner')
    expect(await owners(slug)).toHaveLength(1)
  })
})

describe('rotate-data-key, rewrap and shred', () => {
  const shopWithSecret = async (): Promise<{ slug: string; token: string; id: string }> => {
    const { slug, admin } = await service.newTenant('admin')
    const [vendor] = vendorAccounts
    if (vendor === undefined) throw new Error('no vendor')
    const { code, account_number, secret } = vendor
    const { body } = await service.request('POST /v1/vendor-accounts', {
      token: admin.token,
      body: { vendor: code, account_number, secret },
    })
    return { slug, token: admin.token, id: body.id }
  }
  const done = async (...words: string[]) => {
    const { code, stdout } = await command(...words, '--json')
    expect(code).toBe(0)
    return JSON.parse(stdout).done
  }

  it('rotates, rewraps and shreds a tenant’s data keys, and reports how many', async () => {
    const { slug, token } = await shopWithSecret()
    expect(await done('rotate-data-key', slug)).toMatchObject({ slug, reencrypted: 1, destroyed: 1, unreadable: [] })
    const { KeyMetadata } = await service.vault.kms.send(new CreateKeyCommand({}))
    expect(await done('rewrap', slug, '--key', KeyMetadata?.Arn ?? '')).toMatchObject({ slug, rewrapped: 1 })
    const shredded = await command('shred', slug)
    expect(shredded).toMatchObject({ code: 0, stdout: expect.stringMatching(/secrets_erased: 1\nkeys_destroyed: 1/) })
    const listed = await service.request('GET /v1/vendor-accounts', { token })
    expect(listed.body.data).toEqual([])
  })

  it.each([
    ['a tenant without a data key', ['rotate-data-key', 'carol-caps'], /has no data key/],
    ['an unknown tenant', ['rotate-data-key', 'nowhere'], /There is no tenant nowhere/],
    ['an unknown tenant', ['rewrap', 'nowhere', '--key', ARN], /There is no tenant nowhere/],
    ['an unknown tenant', ['shred', 'nowhere'], /There is no tenant nowhere/],
  ])('refuses %s with exit code 1: %j', async (_, words, why) => {
    expect(await command(...words)).toMatchObject({ code: 1, stderr: expect.stringMatching(why) })
  })

  it('exits 1 while KMS fails or refuses, and succeeds when run again', async () => {
    const { slug } = await shopWithSecret()
    expect(await command('rewrap', slug, '--key', ARN)).toMatchObject({ code: 1, stderr: expect.stringMatching(/KMS/) })
    await service.vault.faults.set({ part: 'kms', mode: 'refuse' })
    expect(await command('rotate-data-key', slug)).toMatchObject({ code: 1, stderr: expect.stringMatching(/KMS/) })
    await service.vault.faults.set({ part: 'kms', mode: 'ok' })
    expect(await done('rotate-data-key', slug)).toMatchObject({ reencrypted: 1, destroyed: 1, finished: true })
  })
})

/** Changes a parameter of the caller's proof. */
const changed = (name: string, value: string) => (event: { caller: string }) => {
  const query = new URLSearchParams(event.caller)
  query.set(name, value)
  return { ...event, caller: query.toString() }
}

describe('the command line', () => {
  it('exits 2 without a reason for a stage, and when the reason has two lines', async () => {
    expect(await cli('set-status', 'acme-print', 'active', '--stage', 'dev')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--reason/),
    })
    expect(await cli('set-status', 'acme-print', 'active', '--reason', 'a\nb')).toMatchObject({ code: 2 })
  })

  it('gives a command on the local stack a reason when it names none', async () => {
    expect(await cli('enable-user', 'nobody@shops.test')).toMatchObject({ code: 0 })
  })

  it.each([
    [[]],
    [['bogus']],
    [['set-status', 'acme-print']],
    [['set-status', 'acme-print', 'active', 'more']],
    [['set-status', 'acme-print', 'weird']],
    [['create-tenant', '--slug', 's']],
    [['create-tenant', '--slug', 'no good', '--name', 'N', '--owner', 'a@b.test']],
    [['disable-user', 'a@b.test', '--slug', 's']],
    [['disable-user', '--what']],
    [['enable-user', 'a@b.test', '--force']],
    [['invite-owner', 'acme-print']],
    [['rotate-data-key']],
    [['rotate-data-key', 'acme-print', '--key', ARN]],
    [['rewrap', 'acme-print']],
    [['rewrap', 'acme-print', '--key', 'a1b2c3']],
    [['rewrap', 'acme-print', '--key', 'alias/vault']],
    [['rewrap', 'acme-print', '--key', 'arn:aws:kms:us-east-1:000000000000:alias/vault']],
    [['rewrap', 'acme-print', '--key', 'arn:aws:s3:us-east-1:000000000000:key/a1b2c3']],
    [['shred']],
    [['shred', 'acme-print', 'bolt-apparel']],
  ])('exits 2 on wrong usage: %j', async (words) => {
    expect(await command(...words)).toMatchObject({ code: 2 })
  })

  it('prints help and exits 0', async () => {
    const help = await command('--help')
    expect(help.code).toBe(0)
    for (const usage of ['set-status SLUG STATUS', 'rotate-data-key SLUG', 'rewrap SLUG --key ARN', 'shred SLUG']) {
      expect(help.stdout).toContain(usage)
    }
    expect(help.stdout).toMatch(/no way back[^]*Backups/)
  })
})

describe('the caller of a command', () => {
  const SUSPEND = { command: 'set-status', slug: 'bolt-apparel', status: 'suspended' }

  it('is in every audit entry of the command, with the reason', async () => {
    const { slug } = await service.newTenant()
    await command('set-status', slug, 'suspended')
    await command('set-status', slug, 'active')
    const written = await service.database.admin`
      select a.after from app.audit_log a join app.tenants t on t.id = a.tenant_id where t.slug = ${slug}`
    expect(written.map((entry) => entry['after'])).toEqual([
      { status: 'suspended', operator: LOCAL_CALLER, reason: REASON },
      { status: 'active', operator: LOCAL_CALLER, reason: REASON },
    ])
  })

  it.each<[what: string, change: (event: any) => unknown, outcome: object]>([
    ['no proof', (event) => ({ ...event, caller: undefined }), { invalid: expect.stringMatching(/^caller /) }],
    ['no reason', (event) => ({ ...event, reason: undefined }), { invalid: expect.stringMatching(/^reason /) }],
    [
      'a reason of two lines',
      (event) => ({ ...event, reason: 'a\nb' }),
      { invalid: expect.stringMatching(/^reason /) },
    ],
    ['a proof for another command', (event) => ({ ...event, slug: 'acme-print' }), { refused: expect.any(String) }],
    ['a proof for another reason', (event) => ({ ...event, reason: 'another' }), { refused: expect.any(String) }],
    ['another action', changed('Action', 'GetSessionToken'), { refused: expect.any(String) }],
    [
      'an unknown access key',
      changed('X-Amz-Credential', 'other/20261122/us-east-1/sts/aws4_request'),
      { refused: expect.any(String) },
    ],
    ['a forged signature', changed('X-Amz-Signature', '0'.repeat(64)), { refused: expect.any(String) }],
    ['a signature of the host alone', changed('X-Amz-SignedHeaders', 'host'), { refused: expect.any(String) }],
    [
      'a parameter that is not signed',
      (event) => ({ ...event, caller: `${event.caller}&DurationSeconds=1` }),
      { refused: expect.any(String) },
    ],
    [
      'a parameter twice',
      (event) => ({ ...event, caller: `${event.caller}&Version=2011-06-15` }),
      { refused: expect.any(String) },
    ],
  ])('is not accepted with %s', async (_, change, outcome) => {
    expect(await invoke(change(await signedCommand('operate', SUSPEND)))).toEqual(outcome)
  })

  it('is not accepted for another function, from another account, or minutes later', async () => {
    const refused = { refused: expect.any(String) }
    expect(await invoke(await signedCommand('tenantry-prod-operate', SUSPEND))).toEqual(refused)
    const event = await signedCommand('operate', SUSPEND)
    const elsewhere = functionArn('operate').replace('000000000000', '111111111111')
    const context = { ...lambdaContext, functionName: 'operate', invokedFunctionArn: elsewhere }
    expect(await receive(event, context)).toEqual(refused)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 6 * 60_000 })
    try {
      expect(await invoke(event)).toEqual(refused)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('the operator’s database role', () => {
  it('may insert only invitations, and only into the tenant of its transaction', async () => {
    const operator = connectTo(service.database.operatorUrl, { connections: 1, prepare: true })
    closers.push(() => operator.close())
    const [{ acme, owner } = {}] = await service.database.admin<{ acme: string; owner: string }[]>`
      select t.id as acme, u.id as owner from app.tenants t, app.users u
       where t.slug = 'acme-print' and u.email = 'owner@acme.test'`
    if (acme === undefined || owner === undefined) throw new Error('no seed')
    const hash = () => randomBytes(32)
    await expect(
      operator.sql`insert into app.tokens (token_hash, purpose, user_id, expires_at)
                   values (${hash()}, 'password_reset', ${owner}, now() + interval '1 hour')`,
    ).rejects.toMatchObject({ code: '42501' })
    const invite = (sql: Sql) => sql`
      insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
      values (${hash()}, 'invite', ${acme}, 'planted@acme.test', 1, now() + interval '1 hour')`
    await expect(invite(operator.sql)).rejects.toMatchObject({ code: '42501' })
    await operator.transaction('read write', async (sql) =>
      invite(await proofOfOperator(sql, acme, 'a test').enter(sql)),
    )
  })
})

it('exits with the code of its command line', async () => {
  const run = promisify(execFile)(process.execPath, ['infra/tools/operate.ts', '--no-such-option'])
  await expect(run).rejects.toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('npm run operate') })
})
