import { gatewayResponse, PAYLOAD_LIMIT_BYTES } from '#infra/gateway.ts'
import { queueEvent } from '#infra/local/aws/lambda.ts'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { faultsOf } from '#tests/support/documented.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { createMember } from '#tests/support/minted-session.ts'
import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { routes, withUnknownId } from '#tests/support/routes.ts'
import { type Answer, PASSWORD, type TestService } from '#tests/support/service.ts'
import type { AssembledService } from './service.ts'

type Service = AssembledService & TestService

const SLUG = 'acme-print'
const UNKNOWN_TOKEN = 'x'.repeat(43)
let people = 0

function expectStatus(answer: Answer, status: number, what: string): Answer {
  if (answer.status === status) return answer
  throw new Error(`${what}: returned ${answer.status} ${answer.text} instead of ${status}`)
}

const ask = async (service: Service, status: number, route: string, token?: string, body?: object): Promise<any> =>
  expectStatus(await service.request(route, { token, body }), status, route).body

const newOwner = async ({ database }: Service): Promise<{ email: string; token: string }> => {
  people += 1
  const email = `smoke${people}@acme.test`
  return { email, ...(await createMember(database.admin, { email, slug: SLUG })) }
}

/** Calls every route without credentials and body. Each exists, and responds as documented. */
async function operations(service: Service): Promise<void> {
  for (const { name, endpoint } of routes) {
    const path = withUnknownId(endpoint.path)
    const answer = await service.request(`${endpoint.method} ${path}`)
    const faults = faultsOf(endpoint.method, path, answer)
    if (faults.length > 0) throw new Error(`${name}: ${faults.join('; ')}`)
    if (endpoint.access !== 'anyone') expectStatus(answer, 401, name)
    else if (endpoint.body !== null) expectStatus(answer, 415, name)
    else expectStatus(answer, 200, name)
  }
  const { body } = await service.request('POST /v1/auth/login', { body: {} })
  if (body.type !== `${PROBLEM_BASE_URL}/validation-failed`) throw new Error(`PROBLEM_BASE_URL: ${body.type}`)
}

/** Checks the gateway's own responses. */
async function gateway(service: Service): Promise<void> {
  const body = `"${'a'.repeat(PAYLOAD_LIMIT_BYTES)}"`
  const answer = await service.request('POST /v1/auth/login', { body })
  const requestId = answer.headers.get('x-request-id') ?? ''
  const expected = gatewayResponse('REQUEST_TOO_LARGE', { requestId, problemBaseUrl: PROBLEM_BASE_URL })
  expectStatus(answer, expected.status, 'REQUEST_TOO_LARGE')
  if (answer.text !== expected.body) throw new Error(`REQUEST_TOO_LARGE: ${answer.text}`)
  const unknown = await service.request('GET /v1/no/such/path', { token: UNKNOWN_TOKEN })
  expectStatus(unknown, 404, 'an unknown path')
  if (unknown.text.includes(UNKNOWN_TOKEN)) throw new Error('the response to an unknown path contains the token')
}

/** Signs a user in, selects a tenant and reads its data. */
async function signIn(service: Service): Promise<void> {
  const token = await service.signIn('owner@acme.test', SLUG)
  for (const path of ['/v1/auth/session', '/v1/members', '/v1/catalog/styles', '/v1/audit-log', '/health/ready'])
    await ask(service, 200, `GET ${path}`, token)
}

/** Invites a user, and accepts with the link in the email. */
async function invite(service: Service): Promise<void> {
  const owner = await newOwner(service)
  const email = `invited-${owner.email}`
  await ask(service, 200, 'POST /v1/members/invite', owner.token, { email, role: 'viewer' })
  if (!service.invoked.slice(-2).includes('deliver-mail'))
    throw new Error('POST /v1/members/invite did not invoke deliver-mail')
  await service.mail.deliver()
  const [message] = service.mail.to(email)
  const { webBaseUrl } = service.runtime.config.mail
  if (message === undefined) throw new Error('deliver-mail sent no email')
  if (!message.text?.includes(`\n${webBaseUrl}/`))
    throw new Error(`WEB_BASE_URL: the link in the email does not start with ${webBaseUrl}`)
  const body = { token: tokenIn(message), password: PASSWORD, full_name: 'A Person' }
  await ask(service, 200, 'POST /v1/auth/invitations/accept', undefined, body)
}

/** Invites an address that bounces, and records what SES reports. */
async function bounce(service: Service): Promise<void> {
  const owner = await newOwner(service)
  const email = `bounce+${people}@simulator.amazonses.com`
  await ask(service, 200, 'POST /v1/members/invite', owner.token, { email, role: 'viewer' })
  await service.mail.deliver()
  await service.invoke('record-bounces', queueEvent(...service.mail.events))
  const { data } = await ask(service, 200, 'GET /v1/members/invitations?limit=100', owner.token)
  if (data.find((each: any) => each.email === email)?.bounced_at === null)
    throw new Error('the bounce was not recorded')
}

/** Changes something, and publishes its event. */
async function events(service: Service): Promise<void> {
  const { token } = await newOwner(service)
  const { id } = await ask(service, 200, 'POST /v1/designs', token, { name: 'Smoke' })
  if (!service.invoked.includes('publish-events')) throw new Error('POST /v1/designs did not invoke publish-events')
  await service.invoke('publish-events', {})
  const found = service.published().find(({ detail }) => Object(detail).subject.id === id)
  if (found?.['detail-type'] !== 'design.created') throw new Error('publish-events did not publish the design')
}

/** Decides about a request of another service. */
async function decide(service: Service): Promise<void> {
  const { token } = await newOwner(service)
  const question = { authorization: [`Bearer ${token}`], permission: 'deal.write', request_id: 'of-the-smoke-test' }
  const { outcome } = Object(await service.invoke('authorize', question))
  if (outcome !== 'allowed') throw new Error(`authorize: ${outcome}`)
}

/** Connects a vendor account, whose secret another instance decrypts, and rotates the tenant's data key. */
async function vendors(service: Service): Promise<void> {
  const { token } = await newOwner(service)
  const connect = async (label: string, [vendor] = vendorAccounts): Promise<string> => {
    const account = { vendor: vendor?.code, label, account_number: vendor?.account_number, secret: vendor?.secret }
    return (await ask(service, 200, 'POST /v1/vendor-accounts', token, account)).status
  }
  people += 1
  const status = await connect(`Smoke ${people}`)
  if (status !== 'verified') throw new Error(`POST /v1/vendor-accounts: the vendor account is ${status}`)
  for (const vendor of vendorAccounts.slice(1)) {
    const other = await connect(`Smoke ${people}, ${vendor.code}`, [vendor])
    if (other !== 'verified') throw new Error(`POST /v1/vendor-accounts: the account of ${vendor.code} is ${other}`)
  }
  await service.vault.faults.set({ part: 'vendor', mode: 'refuse' })
  await connect(`Smoke ${people}, later`)
  await service.vault.faults.set({ part: 'vendor', mode: 'ok' })
  await service.database.admin`update app.jobs set run_at = now() where kind = 'verify-vendor'`
  const { answered } = Object(await service.invoke('verify-vendors', {}))
  if (answered !== 1) throw new Error(`verify-vendors: ${answered} answered`)
  const rotated = Object(await service.operate({ command: 'rotate-data-key', slug: SLUG }))
  if (rotated.done?.finished !== true) throw new Error(`operate: ${JSON.stringify(rotated)}`)
}

/** Creates a tenant as an operator, and runs the scheduled workers. */
async function work(service: Service): Promise<void> {
  people += 1
  const tenant = { slug: `smoke-${people}`, name: 'Smoke', owner: `smoke${people}@new.test` }
  const made = Object(await service.operate({ command: 'create-tenant', ...tenant }))
  if (made.done === undefined) throw new Error(`operate: ${JSON.stringify(made)}`)
  if (!service.invoked.slice(-2).includes('deliver-mail')) throw new Error('operate did not invoke deliver-mail')
  for (const worker of ['maintain', 'measure', 'audit-sign-ins']) await service.invoke(worker, {})
}

/** Signs in on a page, and reads what the gateway itself answers. */
async function pages({ webUrl }: Service): Promise<void> {
  const cookiesOf = ({ headers }: Response) =>
    headers
      .getSetCookie()
      .map((line) => line.split(';', 1)[0])
      .join('; ')
  const form = await fetch(`${webUrl}/sign-in`)
  const csrf = /name="csrf" value="([^"]+)"/.exec(await form.text())?.[1] ?? ''
  const signedIn = await fetch(`${webUrl}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookiesOf(form), 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ csrf, email: 'owner@acme.test', password: PASSWORD }),
  })
  if (signedIn.status !== 303) throw new Error(`POST /sign-in: returned ${signedIn.status} instead of 303`)
  const start = await fetch(webUrl, { headers: { cookie: cookiesOf(signedIn) } })
  if (start.status !== 200 || !start.url.endsWith(`/s/${SLUG}`)) throw new Error(`GET /: ${start.status} ${start.url}`)
  const unknown = await fetch(`${webUrl}/no/such/page`)
  const type = unknown.headers.get('content-type')
  if (unknown.status !== 404 || type !== 'text/html; charset=utf-8') throw new Error(`404: ${unknown.status} ${type}`)
}

/** The main flows of the service, by subject. */
export const SMOKE = { pages, operations, gateway, signIn, invite, bounce, events, decide, vendors, work }
