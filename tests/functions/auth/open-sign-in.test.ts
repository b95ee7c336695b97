import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { authorizer } from '#functions/workers/authorize/authorizer.ts'
import { codeNow, finish, newFactorUser, openSignIn } from '#tests/support/factor.ts'
import { tenantId } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { mintServiceKey } from '#tests/support/service-key.ts'
import { createServiceLogin } from '#tests/support/service-login.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

describe('the token of an open sign-in', () => {
  it('is nothing to authorize, and introspect finds no session', async () => {
    const user = await newFactorUser(service)
    const token = await openSignIn(service, user.email)
    const handle = authorizer({ config: service.runtime.config, open: async () => service.runtime })
    const asked = { authorization: [`Bearer ${token}`], permission: null, request_id: 'request-of-a-test' }
    expect(await handle(asked)).toEqual({ outcome: 'refused', status: 401 })
    const key = await mintServiceKey(service.sql)
    const { body } = await service.request('POST /v1/introspect', {
      headers: { authorization: key.authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }).toString(),
    })
    expect(body).toEqual({ active: false })
  })

  it('enters no tenant in another service, in any form; the session that it becomes does', async () => {
    const user = await newFactorUser(service)
    const token = await openSignIn(service, user.email)
    const tenant = await tenantId(service.sql, 'acme-print')
    const login = await createServiceLogin(service.sql, service.database.appUrl)
    const shop = postgres(login.url, { max: 1, onnotice: () => {} })
    onTestFinished(async () => {
      await shop.end()
      await service.sql.unsafe(`drop role ${login.role}`)
    })
    const enter = (proof: Buffer, mode: 'read only' | 'read write') =>
      shop.begin(mode, async (tx) => {
        await tx`select app.enter(${proof}, 'company.read')`
        return (await tx`select app.current_tenant() as id`)[0]?.['id']
      })
    const proofOf = async (ticket: Buffer): Promise<Buffer> =>
      (await service.sql`select app.service_proof(${ticket}) as proof`)[0]?.['proof']
    const [open] = await service.sql`select id, token_key from app.open_sign_ins where user_id = ${user.id}`
    const forms = [Buffer.from(token), Buffer.from(token, 'base64url'), open?.['token_key']]
    // The database alone seals a ticket. Not even one that names the open sign-in as its session finds a principal.
    const [named] = await service.sql`
      select app.seal_ticket('session', ${tenant}, ${user.id}, ${open?.['id']}, 1, 'password', now()) as ticket`
    const sealed = await proofOf(named?.['ticket'])
    const modes = ['read only', 'read write'] as const
    for (const mode of modes) {
      for (const form of forms) await expect(enter(form, mode)).rejects.toMatchObject({ code: 'TN500' })
      await expect(enter(sealed, mode)).rejects.toMatchObject({ code: 'TN401' })
    }
    const finished = await finish(service, token, { code: codeNow(user.secret) })
    await service.request(`POST /v1/auth/tenants/${tenant}/select`, { token: finished.body.token })
    const proof = await proofOf(await ticketOf(service.sql, finished.body.session.id))
    for (const mode of modes) expect(await enter(proof, mode)).toBe(tenant)
  })
})
