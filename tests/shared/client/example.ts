// The code of shared/client/README.md: a test runs it and compares the two.
import { type Client, createClient, ProblemError } from '#shared/client/client.ts'

export async function signIn(baseUrl: string, email: string, password: string): Promise<Client> {
  const reply = await createClient({ baseUrl }).call('POST /v1/auth/login', { body: { email, password } })
  // The password was right, and a second factor is still owed: POST /v1/auth/login/second-factor finishes the sign-in.
  if ('second_factor' in reply) throw new Error('ask for a code')
  return createClient({ baseUrl, token: reply.token })
}

export async function selectFirstTenant({ call }: Client): Promise<string> {
  const { data } = await call('GET /v1/auth/tenants')
  const [first] = data
  if (first === undefined) throw new Error('the user has no membership')
  await call('POST /v1/auth/tenants/{id}/select', { params: { id: first.tenant.id } })
  return first.tenant.legal_name
}

export async function listCustomers(baseUrl: string, apiKey: string): Promise<string[]> {
  const { call } = createClient({ baseUrl, apiKey })
  const { tenant, expires_at } = await call('GET /v1/api-keys/current')
  console.log(`a key of ${tenant.slug} until ${expires_at}`)
  const { data } = await call('GET /v1/deals', { query: { limit: 100 } })
  return data.map(({ customer_name }) => customer_name)
}

export async function listEmails({ call }: Client): Promise<string[]> {
  const emails: string[] = []
  let cursor: string | undefined
  do {
    const { data, next_cursor } = await call('GET /v1/members', { query: { status: 'active', limit: 100, cursor } })
    emails.push(...data.map(({ user }) => user.email))
    cursor = next_cursor ?? undefined
  } while (cursor !== undefined)
  return emails
}

export async function invite({ call }: Client, email: string, role: string): Promise<string> {
  try {
    const { expires_at } = await call('POST /v1/members/invite', { body: { email, role } })
    return `invited until ${expires_at}`
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error // no response: the network failed
    if (error.kind === 'already-member') return 'is a member already'
    if (error.kind === 'validation-failed') return error.errors.map(({ pointer, code }) => `${pointer} ${code}`).join()
    if (error.status === 401) return 'sign in again'
    throw error
  }
}

export async function withStepUp<T>(
  { baseUrl, token, askForCode }: { baseUrl: string; token: string; askForCode: () => Promise<string> },
  work: (client: Client) => Promise<T>,
): Promise<{ token: string; done: T }> {
  const client = createClient({ baseUrl, token })
  try {
    return { token, done: await work(client) }
  } catch (error) {
    if (!(error instanceof ProblemError) || error.kind !== 'step-up-required') throw error
    const stepped = await client.call('POST /v1/auth/step-up', { body: { code: await askForCode() } })
    return { token: stepped.token, done: await work(createClient({ baseUrl, token: stepped.token })) }
  }
}

export async function rename({ call, callWithEtag }: Client, name: string): Promise<string> {
  const { body: tenant, etag } = await callWithEtag('GET /v1/tenant')
  try {
    await call('PATCH /v1/tenant', { body: { legal_name: name }, ifMatch: etag })
    return `was ${tenant.legal_name}`
  } catch (error) {
    if (error instanceof ProblemError && error.kind === 'precondition-failed') return 'was changed by somebody else'
    throw error
  }
}

export async function withRetry<T>(read: () => Promise<T>, attempts = 3): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const waitSeconds = error instanceof ProblemError ? error.retryAfterSeconds : 1
    if (waitSeconds === null || attempts === 1) throw error
    await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1000))
    return withRetry(read, attempts - 1)
  }
}

/** What a service keeps of the members: the role of each, while their membership is live, and how far it has read. */
export interface MemberCopy {
  position: string | null
  readonly roles: Map<string, string>
}

export async function updateCopy({ call }: Pick<Client, 'call'>, copy: MemberCopy): Promise<MemberCopy> {
  if (copy.position === null) return readCopy({ call })
  try {
    const { data, next, complete } = await call('GET /v1/changes', { query: { after: copy.position, limit: 100 } })
    for (const { action, detail } of data) {
      const { user_id: user = '' } = detail.subject
      const key = `${detail.tenant_id} ${user}`
      if (action === 'membership.revoked') copy.roles.delete(key)
      else if (action.startsWith('membership.')) copy.roles.set(key, String(detail.after?.['role']))
    }
    copy.position = next
    return complete || data.length === 0 ? copy : await updateCopy({ call }, copy)
  } catch (error) {
    if (error instanceof ProblemError && error.kind === 'position-expired') return readCopy({ call })
    throw error
  }
}

async function readCopy({ call }: Pick<Client, 'call'>): Promise<MemberCopy> {
  const first = await call('GET /v1/memberships', { query: { limit: 100 } })
  const copy: MemberCopy = { position: first.changes_after, roles: new Map() }
  for (
    let page = first;
    ;
    page = await call('GET /v1/memberships', { query: { limit: 100, cursor: page.next_cursor ?? '' } })
  ) {
    for (const { tenant_id, user_id, role, live } of page.data)
      if (live) copy.roles.set(`${tenant_id} ${user_id}`, role)
    if (page.next_cursor === null) return copy
  }
}
