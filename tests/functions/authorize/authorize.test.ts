import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { authorizer } from '#functions/workers/authorize/authorizer.ts'
import { worker } from '#functions/workers/authorize/worker.ts'
import { liveArn, type LocalLambda, startLambda } from '#infra/local/aws/lambda.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { createFaults } from '#infra/local/faults.ts'
import { parseConfig } from '#shared/base/config.ts'
import { createRuntime, type RuntimeFor } from '#shared/lambda/runtime.ts'
import { accessOf, loginsOf } from '#tests/support/access.ts'
import { codeNow, newFactorUser, openSignIn, stepUp } from '#tests/support/factor.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { rawRequest } from '#tests/support/raw-http.ts'
import { PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

type AuthorizeRuntime = RuntimeFor<(typeof worker)['needs'][number]>

const service = useService()
const ARN = 'arn:aws:execute-api:us-east-1:123456789012:a1b2c3/api'

let lambda: LocalLambda
let client: LambdaClient
beforeAll(async () => {
  lambda = await startLambda()
  lambda.serve('authorize', { worker, invoke: handlerOf(service.runtime) })
  client = new LambdaClient({
    endpoint: lambda.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
})
afterAll(async () => {
  client.destroy()
  await lambda.close()
})

const handlerOf = (runtime: AuthorizeRuntime) => authorizer({ config: runtime.config, open: async () => runtime })

async function invoke(event: object, FunctionName = liveArn('authorize')) {
  const { Payload, FunctionError } = await client.send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) }),
  )
  return { failed: FunctionError !== undefined, body: JSON.parse(Payload?.transformToString() ?? '') }
}

const ask = async (authorization: readonly string[], permission: string | null = null) => {
  const { failed, body } = await invoke({ authorization, permission, request_id: 'request-of-a-test' })
  expect(failed, JSON.stringify(body)).toBe(false)
  return body
}

const askWith = (token: string, permission?: string | null) => ask([`Bearer ${token}`], permission)

const atGateway = (authorization: readonly string[], methodArn = `${ARN}/GET/orders/1/lines`) =>
  invoke({ type: 'REQUEST', methodArn, multiValueHeaders: { Authorization: authorization }, requestContext: {} })

const NOT_SELECTED = { outcome: 'refused', status: 403, slug: 'tenant-not-selected' }
const STEP_UP_REQUIRED = { outcome: 'refused', status: 403, slug: 'step-up-required' }
const FORBIDDEN = { outcome: 'refused', status: 403 }
const UNAUTHORIZED = { outcome: 'refused', status: 401 }

describe('authorize', () => {
  it('returns the principal of a session whose role holds the permission, and slides its idle expiry', async () => {
    const { sales, id, slug } = await service.newTenant('sales')
    await service.sql`update app.sessions set idle_expires_at = now() + interval '1 minute' where id = ${sales.id}`
    expect(await askWith(sales.token, 'deal.write')).toEqual({
      outcome: 'allowed',
      principal: {
        kind: 'session',
        session_id: sales.id,
        second_factor_at: null,
        stepped_up_at: expect.stringMatching(/^20/),
        user: { id: sales.userId, email: `sales@${slug}.test`, full_name: expect.any(String) },
        tenant: { id, slug, status: 'active', timezone: 'America/New_York', currency: 'USD' },
        membership_id: sales.membershipId,
        role: { id: 3, code: 'sales', rank: 60 },
        permissions: expect.arrayContaining(['deal.write']),
        proof: expect.stringMatching(/^[\w-]{100,}$/),
      },
    })
    const [row] = await service.sql`
      select idle_expires_at > now() + interval '1 hour' as slid from app.sessions where id = ${sales.id}`
    expect(row?.['slid']).toBe(true)
  })

  it('refuses a role without the permission, a session without a tenant, and a permission that does not exist', async () => {
    const { viewer, owner } = await service.newTenant('viewer', 'owner')
    const { token: pending } = await mintSession(service.sql, { email: 'sales@acme.test' })
    expect(await askWith(viewer.token, 'deal.write')).toEqual(FORBIDDEN)
    expect(await askWith(viewer.token, null)).toMatchObject({ outcome: 'allowed' })
    expect(await askWith(owner.token, 'deal.write')).toMatchObject({ outcome: 'allowed' })
    for (const permission of ['deal.wriet', '*', '']) expect(await askWith(owner.token, permission)).toEqual(FORBIDDEN)
    for (const permission of [null, 'deal.write', 'deal.wriet'])
      expect(await askWith(pending, permission)).toEqual(NOT_SELECTED)
  })

  it('refuses a step-up that is older than the question allows, after the permission', async () => {
    const { sales } = await service.newTenant('sales')
    const question = { authorization: [`Bearer ${sales.token}`], permission: 'deal.write', request_id: 'r' }
    const asking = async (seconds: unknown, permission = 'deal.write') =>
      (await invoke({ ...question, permission, step_up_seconds: seconds })).body
    const stepped = (at: string | null) => service.sql`
      update app.sessions set stepped_up_at = now() - ${at}::interval, second_factor_at = now() where id = ${sales.id}`
    await stepped('61 seconds')
    expect(await asking(60)).toEqual(STEP_UP_REQUIRED)
    expect(await asking(60, 'member.manage')).toEqual(FORBIDDEN)
    for (const seconds of [120, 3600, null, undefined])
      expect(await asking(seconds)).toMatchObject({
        outcome: 'allowed',
        principal: { stepped_up_at: expect.stringMatching(/^20/), second_factor_at: expect.stringMatching(/^20/) },
      })
    await stepped(null)
    expect(await asking(3600)).toEqual(STEP_UP_REQUIRED)
    for (const seconds of [0, -1, 3601, 1.5, '60', true])
      expect(await asking(seconds)).toMatchObject({ errorMessage: expect.stringContaining('no') })
  })

  it('refuses the token of a sign-in that owes its second factor, and that of a session before its step-up', async () => {
    const { email, secret, token } = await newFactorUser(service)
    const signIn = await openSignIn(service, email)
    for (const permission of [null, 'deal.read']) expect(await askWith(signIn, permission)).toEqual(UNAUTHORIZED)
    const stepped = await stepUp(service, token, { code: codeNow(secret) })
    expect(await askWith(token)).toEqual(UNAUTHORIZED)
    expect(await askWith(stepped.body.token)).toEqual(NOT_SELECTED)
  })

  it('accepts and refuses the same Authorization headers as the routes of the service', async () => {
    const { sales } = await service.newTenant('sales')
    const { token } = sales
    const cases: readonly (readonly string[])[] = [
      [`Bearer ${token}`],
      [`bearer ${token}`],
      [],
      [''],
      ['Bearer'],
      ['Bearer '],
      [`Bearer  ${token}`],
      [`Bearer ${token},Bearer ${token}`],
      [`Bearer ${token}`, `Bearer ${token}`],
      [`Bearer ${token}`, ''],
      ['Basic dXNlcjpwYXNz', `Bearer ${token}`],
      [`Basic ${token}`],
      [`Bearer ${token.slice(1)}`],
      [`Bearer ${'A'.repeat(43)}`],
    ]
    for (const credentials of cases) {
      const headers = credentials.flatMap((value) => ['authorization', value])
      const { status } = await rawRequest(service.gateway.url, { method: 'GET', path: '/v1/auth/session', headers })
      const decision = await ask(credentials)
      expect([credentials, decision.outcome === 'allowed' ? 200 : decision.status]).toEqual([credentials, status])
      if (status === 401) expect(decision).toEqual(UNAUTHORIZED)
    }
  })

  it('refuses on the next request what was revoked, disabled, suspended or changed', async () => {
    const { admin, sales, production, viewer, id } = await service.newTenant('admin', 'sales', 'production', 'viewer')
    await service.sql`update app.sessions set revoked_at = now() where id = ${admin.id}`
    await service.sql`update app.users set disabled_at = now() where id = ${production.userId}`
    await service.sql`update app.memberships set role_id = 7 where id = ${sales.membershipId}`
    for (const { token } of [admin, production]) expect(await askWith(token)).toEqual(UNAUTHORIZED)
    expect(await askWith(sales.token, 'deal.write')).toEqual(FORBIDDEN)
    await service.sql`update app.tenants set status = 'suspended' where id = ${id}`
    expect((await askWith(viewer.token)).outcome).toBe('refused')
  })

  it('finds a session by the previous pepper, and proves it', async () => {
    const { sales, id } = await service.newTenant('sales')
    const rotated = { ...service.runtime, pepper: 'p'.repeat(32), pepperPrevious: PEPPER }
    const question = { authorization: [`Bearer ${sales.token}`], permission: null, request_id: 'r' }
    expect(await handlerOf(rotated)(question)).toMatchObject({
      outcome: 'allowed',
      principal: { tenant: { id }, proof: expect.stringMatching(/^[\w-]{100,}$/) },
    })
  })

  it('takes one statement and one round trip', async () => {
    const { hostname, port } = new URL(service.database.appUrl)
    const wire = await startPostgresWire({ host: hostname, port: Number(port) })
    const runtime = runtimeAt(wire.port)
    onTestFinished(async () => {
      await runtime.database.close()
      await wire.close()
    })
    const handle = handlerOf(runtime)
    const { sales } = await service.newTenant('sales')
    const question = { authorization: [`Bearer ${sales.token}`], permission: 'deal.write', request_id: 'r' }
    // The first use prepares the statement.
    await handle(question)
    const before = wire.counts()
    expect(await handle(question)).toMatchObject({ outcome: 'allowed' })
    const after = wire.counts()
    expect([after.statements - before.statements, after.roundTrips - before.roundTrips]).toEqual([1, 1])
  })

  it('fails, and does not refuse, while the database is down or hangs', async () => {
    const { hostname, port } = new URL(service.database.appUrl)
    const faults = createFaults()
    const wire = await startPostgresWire({ host: hostname, port: Number(port), faults })
    const runtime = runtimeAt(wire.port)
    onTestFinished(async () => {
      faults.close()
      await runtime.database.close()
      await wire.close()
    })
    const { sales } = await service.newTenant('sales')
    lambda.serve('authorize-broken', { worker, invoke: handlerOf(runtime) })
    for (const mode of ['refuse', 'hang'] as const) {
      await faults.set({ part: 'postgres', mode })
      const event = { authorization: [`Bearer ${sales.token}`], permission: null, request_id: 'request-of-a-test' }
      const logged = await service.logged(async () => {
        const { failed, body } = await invoke(event, 'authorize-broken:live')
        expect([failed, body.errorMessage]).toEqual([true, 'the authorization failed'])
      })
      expect(logged).toContain('request-of-a-test')
      expect(logged).not.toContain(sales.token)
    }
  })

  it('fails on an event that is no question, without repeating it', async () => {
    const { failed, body } = await invoke({ authorization: 'Bearer planted', permission: null, request_id: 'r' })
    expect(failed).toBe(true)
    expect(JSON.stringify(body)).not.toContain('planted')
  })
})

describe('authorize as a REQUEST authorizer', () => {
  it('allows a member the whole stage, with the principal as one JSON text', async () => {
    const { sales } = await service.newTenant('sales')
    const { body } = await atGateway([`Bearer ${sales.token}`])
    const { principal } = await askWith(sales.token)
    const passedOn = JSON.parse(body.context.principal)
    expect({ ...body, context: passedOn }).toEqual({
      principalId: sales.userId,
      policyDocument: {
        Version: '2012-10-17',
        Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource: `${ARN}/*` }],
      },
      context: { ...principal, proof: passedOn.proof },
    })
  })

  it('throws Unauthorized for a token that is not live, and denies a session without a tenant', async () => {
    for (const authorization of [[], [`Bearer ${'A'.repeat(43)}`]]) {
      const { failed, body } = await atGateway(authorization)
      expect([failed, body.errorMessage]).toEqual([true, 'Unauthorized'])
    }
    const { token } = await mintSession(service.sql, { email: 'sales@acme.test' })
    const { body } = await atGateway([`Bearer ${token}`])
    expect(body.policyDocument.Statement).toEqual([
      { Action: 'execute-api:Invoke', Effect: 'Deny', Resource: `${ARN}/*` },
    ])
    expect(body.context).toBeUndefined()
  })
})

function runtimeAt(port: number): AuthorizeRuntime {
  const config = parseConfig({ DATABASE_TLS: 'disable', DATABASE_CONNECTIONS: '1' })
  const logins = loginsOf(service.database.urls, port)
  const access = { logins, tokenSecrets: { pepper: PEPPER, mailKey: '' }, cache: { url: '', token: '' } }
  return createRuntime(worker.needs, config, accessOf(access, worker.needs))
}
