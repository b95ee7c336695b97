import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CreateKeyCommand, DisableKeyCommand, EnableKeyCommand } from '@aws-sdk/client-kms'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type KeyWork, rewrapDataKeys, rotateDataKey, shredTenant } from '#functions/workers/operate/data-keys.ts'
import { operateKeys } from '#functions/workers/operate/operate.ts'
import { json, startHttpServer } from '#infra/local/http-server.ts'
import type { Database } from '#shared/db/connect.ts'
import type { Vault } from '#shared/vault/vault.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import { proofFor } from '#tests/support/proof.ts'
import { connectTo } from '#tests/support/access.ts'
import { type Answer, MAIL_KEY, PEPPER } from '#tests/support/service.ts'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'

// Accepts every secret, so that each account can have its own.
const vendor = await startHttpServer({ answer: () => json(200, []) })
afterAll(() => vendor.close())
const service = useService({
  env: { VENDOR_TENANT_LIMIT: '100000000', VENDOR_URLS: JSON.stringify({ 'ss-activewear': vendor.url }) },
})
let operators: Database
beforeAll(() => {
  operators = connectTo(service.database.operatorUrl)
})
afterAll(() => operators.close())
afterEach(() => service.vault.faults.set({ part: 'kms', mode: 'ok' }))

type Tenant = TestTenant<'admin'>

const newTenant = () => service.newTenant('admin')

const post = ({ admin: { token } }: Tenant, secret: string): Promise<Answer> =>
  service.request('POST /v1/vendor-accounts', { token, body: { vendor: 'ss-activewear', account_number: '1', secret } })
const put = ({ admin: { token } }: Tenant, id: string, secret: string): Promise<Answer> =>
  service.request(`PUT /v1/vendor-accounts/${id}/secret`, { token, body: { secret } })
const revoke = ({ admin: { token } }: Tenant, id: string): Promise<Answer> =>
  service.request(`DELETE /v1/vendor-accounts/${id}`, { token })

/** Creates a tenant with this many accounts. Returns it with the secret of each account. */
async function filled(count: number): Promise<Tenant & { readonly secrets: Map<string, string> }> {
  const tenant = await newTenant()
  const secrets = new Map<string, string>()
  await post(tenant, 'the first').then(({ body }) => secrets.set(body.id, 'the first'))
  await Promise.all(
    Array.from({ length: count - 1 }, async (_, n) => {
      const { body, status } = await post(tenant, `secret ${n}`)
      expect(status).toBe(200)
      secrets.set(body.id, `secret ${n}`)
    }),
  )
  return { ...tenant, secrets }
}

const workOn = ({ id }: Tenant, vault: Vault = service.runtime.vault): KeyWork => ({
  vault,
  tenantId: id,
  ...INSTRUCTION,
  proof: proofFor(service.sql, id),
  shouldStop: () => false,
})

const OPENING = { reason: 'catalog', requestId: null } as const
const secretOf = async ({ id }: Tenant, accountId: string, vault = service.runtime.vault): Promise<string | null> =>
  (await openVendorCredential(vault, { proof: proofFor(service.sql, id), tenantId: id, accountId }, OPENING))?.secret ??
  null

const keysOf = async ({ id }: Tenant): Promise<string[]> =>
  (
    await service.sql<{ status: string }[]>`
      select status from app.data_keys where tenant_id = ${id} order by created_at, status`
  ).map(({ status }) => status)

const audited = async ({ id }: Tenant, action: string): Promise<(string | null)[]> =>
  (
    await service.sql<{ target_id: string }[]>`
      select target_id from app.audit_log where tenant_id = ${id} and action = ${action} order by occurred_at`
  ).map(({ target_id }) => target_id)

/** Expects every secret to decrypt with an empty key cache. */
async function expectAll(tenant: Tenant, secrets: ReadonlyMap<string, string>): Promise<void> {
  const cold = service.vault.openVault(service.database)
  const found = new Map<string, string | null>()
  for (const id of secrets.keys()) found.set(id, await secretOf(tenant, id, cold))
  await cold.close()
  expect(found).toEqual(secrets)
}

async function expectRotated(tenant: Tenant, secrets: ReadonlyMap<string, string>): Promise<void> {
  const keys = await keysOf(tenant)
  expect(keys.filter((status) => status === 'active')).toHaveLength(1)
  expect(keys.filter((status) => status === 'decrypt_only')).toEqual([])
  const destroyed = await audited(tenant, 'data_key.destroyed')
  expect(destroyed).toHaveLength(keys.length - 1)
  expect(new Set(destroyed).size).toBe(destroyed.length)
  await expectAll(tenant, secrets)
}

async function anotherKmsKey(): Promise<string> {
  const { KeyMetadata } = await service.vault.kms.send(new CreateKeyCommand({}))
  return KeyMetadata?.Arn ?? ''
}

/** Runs four writers with accounts of their own and one reader of all accounts until `stop`. */
function busy(tenant: Tenant & { readonly secrets: Map<string, string> }) {
  const state = { stopped: false }
  let [writes, reads] = [0, 0]
  const wrong: unknown[] = []
  /** The secrets that a reader may find for each account; null for none. */
  const possible = new Map<string, Set<string | null>>()
  for (const [id, secret] of tenant.secrets) possible.set(id, new Set([secret]))
  const allowed = (id: string, ...secrets: (string | null)[]) => possible.set(id, new Set(secrets))
  const writer = async (which: number, mine: string[]) => {
    for (let turn = 0; !state.stopped; turn += 1) {
      const secret = `by ${which}, turn ${turn}`
      const [id] = mine
      let answer: Answer
      if (turn % 3 === 0 || id === undefined) {
        answer = await post(tenant, secret)
        if (answer.status === 200) {
          mine.push(answer.body.id)
          tenant.secrets.set(answer.body.id, secret)
          allowed(answer.body.id, secret)
        }
      } else if (turn % 3 === 1) {
        mine.push(...mine.splice(0, 1))
        allowed(id, tenant.secrets.get(id) ?? '', secret)
        answer = await put(tenant, id, secret)
        if (answer.status === 200) {
          tenant.secrets.set(id, secret)
          allowed(id, secret)
        }
      } else {
        mine.splice(0, 1)
        allowed(id, tenant.secrets.get(id) ?? '', null)
        answer = await revoke(tenant, id)
        if (answer.status === 200) {
          tenant.secrets.delete(id)
          allowed(id, null)
        }
      }
      if (answer.status !== 200) wrong.push(`${answer.status} ${answer.text}`)
      writes += 1
    }
  }
  const reader = async () => {
    const vault = service.vault.openVault(service.database)
    while (!state.stopped) {
      for (const id of Array.from(tenant.secrets.keys())) {
        const before = possible.get(id) ?? new Set()
        const found = await secretOf(tenant, id, vault).catch((error: unknown) => error)
        // Accepts what was possible when the read began or when it ended.
        if (!before.has(found as string) && !possible.get(id)?.has(found as string))
          wrong.push([id, found, [...before]])
        reads += 1
        if (state.stopped) break
      }
    }
    await vault.close()
  }
  const ids = [...tenant.secrets.keys()]
  const all = Promise.all([
    ...[0, 1, 2, 3].map((which) =>
      writer(
        which,
        ids.filter((_, at) => at % 4 === which),
      ),
    ),
    reader(),
  ])
  return {
    async stop() {
      state.stopped = true
      await all
      expect(wrong).toEqual([])
      return { writes, reads }
    },
  }
}

async function rotateToTheEnd(work: KeyWork): Promise<number> {
  for (let calls = 1; ; calls += 1) {
    const result = await rotateDataKey(work)
    expect(result).toMatchObject({ unreadable: [] })
    if (result?.['finished'] === true) return calls
    if (calls === 50) throw new Error('the rotation does not end')
  }
}

describe('rotate-data-key', () => {
  it('keeps every secret readable and every write intact while a data key is rotated', {
    timeout: 120_000,
  }, async () => {
    const tenant = await filled(100)
    const work = busy(tenant)
    const instances = [service.runtime.vault, service.vault.openVault(service.database)]
    for (let round = 0; round < 6; round += 1) await rotateToTheEnd(workOn(tenant, instances[round % 2]))
    const { writes, reads } = await work.stop()
    expect([writes > 100, reads > 100]).toEqual([true, true])
    await rotateToTheEnd(workOn(tenant))
    await expectRotated(tenant, tenant.secrets)
    expect(await audited(tenant, 'data_key.rotated')).toHaveLength(7)
    await instances[1]?.close()
  })

  it('leaves one data key after two concurrent rotations', { timeout: 120_000 }, async () => {
    const tenant = await filled(30)
    const work = busy(tenant)
    const other = service.vault.openVault(service.database)
    for (let round = 0; round < 6; round += 1) {
      await Promise.all([rotateToTheEnd(workOn(tenant)), rotateToTheEnd(workOn(tenant, other))])
    }
    await work.stop()
    await rotateToTheEnd(workOn(tenant))
    await expectRotated(tenant, tenant.secrets)
    await other.close()
  })

  it('resumes a rotation that stopped early', async () => {
    const tenant = await filled(12)
    let calls = 0
    for (let left = 3; ; left = 3) {
      const result = await rotateDataKey({ ...workOn(tenant), shouldStop: () => (left -= 1) < 0 })
      calls += 1
      if (result?.['finished'] === true) break
      expect(result).toEqual({ reencrypted: 3, destroyed: 0, unreadable: [], finished: false })
    }
    expect(calls).toBeGreaterThan(3)
    await expectRotated(tenant, tenant.secrets)
    expect(await audited(tenant, 'data_key.rotated')).toHaveLength(1)
  })

  it('reports a secret that does not decrypt, keeps its key, and finishes when that account is revoked', async () => {
    const tenant = await filled(5)
    const [broken = ''] = tenant.secrets.keys()
    await service.sql`update app.vendor_accounts set sealed_secret = sealed_secret || '\\x00' where id = ${broken}`
    expect(await rotateDataKey(workOn(tenant))).toEqual({
      reencrypted: 4,
      destroyed: 0,
      unreadable: [broken],
      finished: true,
    })
    expect(await keysOf(tenant)).toEqual(expect.arrayContaining(['active', 'decrypt_only']))
    tenant.secrets.delete(broken)
    await expectAll(tenant, tenant.secrets)
    expect(await rotateDataKey(workOn(tenant))).toMatchObject({ reencrypted: 0, unreadable: [broken] })
    expect((await revoke(tenant, broken)).status).toBe(200)
    expect(await rotateDataKey(workOn(tenant))).toMatchObject({ destroyed: 1, unreadable: [], finished: true })
    await expectRotated(tenant, tenant.secrets)
  })

  it('encrypts a secret again when a concurrent rotation destroys the new key', async () => {
    const tenant = await filled(3)
    let destroyed = false
    const vault: Vault = {
      ...service.runtime.vault,
      encrypt: async (...of) => {
        const encrypted = await service.runtime.vault.encrypt(...of)
        // A concurrent rotation does the same.
        if (!destroyed) {
          await service.sql`
            update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
             where tenant_id = ${tenant.id} and status = 'active'`
        }
        destroyed = true
        return encrypted
      },
    }
    expect(await rotateDataKey(workOn(tenant, vault))).toMatchObject({ reencrypted: 3, destroyed: 1, finished: true })
    expect(await keysOf(tenant)).toEqual(['destroyed', 'destroyed', 'active'])
    await expectAll(tenant, tenant.secrets)
  })

  it('returns null when the tenant to rotate has no data key', async () => {
    expect(await rotateDataKey(workOn(await newTenant()))).toBeNull()
  })
})

describe('rewrap', () => {
  it('moves data keys to another KMS key, which alone is needed afterwards', async () => {
    const tenant = await filled(5)
    await rotateDataKey({ ...workOn(tenant), shouldStop: stopAfter(3) })
    expect(await keysOf(tenant)).toHaveLength(2)
    const toKeyArn = await anotherKmsKey()
    expect(await rewrapDataKeys(workOn(tenant), toKeyArn)).toEqual({ rewrapped: 2, unreadable: [], finished: true })
    expect(await rewrapDataKeys(workOn(tenant), toKeyArn)).toEqual({ rewrapped: 0, unreadable: [], finished: true })
    await service.vault.kms.send(new DisableKeyCommand({ KeyId: service.vault.keyArn }))
    try {
      await expectAll(tenant, tenant.secrets)
      const { body } = await post(tenant, 'another')
      await expectAll(tenant, tenant.secrets.set(body.id, 'another'))
      // New data keys use the configured KMS key.
      const fresh = await post(await newTenant(), 'x')
      expect(fresh.status).toBe(503)
    } finally {
      await service.vault.kms.send(new EnableKeyCommand({ KeyId: service.vault.keyArn }))
    }
    await service.vault.kms.send(new DisableKeyCommand({ KeyId: toKeyArn }))
    const [id = ''] = tenant.secrets.keys()
    const cold = service.vault.openVault(service.database)
    await expect(secretOf(tenant, id, cold)).rejects.toMatchObject({ name: 'KeyServiceUnavailable' })
    await cold.close()
  })

  it('reports a data key that KMS cannot decrypt and moves the others', async () => {
    const tenant = await filled(3)
    await rotateDataKey({ ...workOn(tenant), shouldStop: stopAfter(1) })
    const [broken] = await service.sql<{ id: string }[]>`
      update app.data_keys set wrapped_key = wrapped_key || '\\x00'
       where tenant_id = ${tenant.id} and status = 'decrypt_only' returning id`
    const result = await rewrapDataKeys(workOn(tenant), await anotherKmsKey())
    expect(result).toEqual({ rewrapped: 1, unreadable: [broken?.id], finished: true })
  })

  it('keeps every secret readable while rewrap, rotations and writes run concurrently', {
    timeout: 60_000,
  }, async () => {
    const tenant = await filled(20)
    const work = busy(tenant)
    const [first, second] = [await anotherKmsKey(), await anotherKmsKey()]
    const other = service.vault.openVault(service.database)
    for (let round = 0; round < 5; round += 1) {
      const to = round % 2 === 0 ? first : second
      await Promise.all([rotateToTheEnd(workOn(tenant)), rewrapDataKeys(workOn(tenant, other), to)])
    }
    await work.stop()
    await rotateToTheEnd(workOn(tenant))
    await expectRotated(tenant, tenant.secrets)
    await other.close()
  })
})

describe('shred', () => {
  it('leaves nothing to decrypt or list after a shred, and creates a new key for a new secret', async () => {
    const tenant = await filled(5)
    const bystander = await filled(2)
    const before = service.vault.openVault(service.database)
    for (const id of tenant.secrets.keys()) await secretOf(tenant, id, before)
    expect(await shredTenant(workOn(tenant))).toMatchObject({ secrets_erased: 5, keys_destroyed: 1 })
    for (const id of tenant.secrets.keys()) expect(await secretOf(tenant, id, before)).toBeNull()
    await before.close()
    expect((await service.request('GET /v1/vendor-accounts', { token: tenant.admin.token })).body.data).toEqual([])
    const rows = await service.sql`
      select from app.vendor_accounts where tenant_id = ${tenant.id} and (sealed_secret is not null or data_key_id is not null)`
    expect(rows).toHaveLength(0)
    expect(await keysOf(tenant)).toEqual(['destroyed'])
    expect((await audited(tenant, 'vendor_account.revoked')).length).toBe(5)
    const { status, body } = await post(tenant, 'after it')
    expect([status, await secretOf(tenant, body.id)]).toEqual([200, 'after it'])
    expect(await keysOf(tenant)).toEqual(['destroyed', 'active'])
    await expectAll(bystander, bystander.secrets)
  })

  it('destroys all earlier secrets and breaks no concurrent write', { timeout: 60_000 }, async () => {
    const tenant = await newTenant()
    const state = { stopped: false }
    const wrong: string[] = []
    const answered: { id: string; secret: string; from: number }[] = []
    const writers = [0, 1, 2, 3].map(async (which) => {
      for (let turn = 0; !state.stopped; turn += 1) {
        const secret = `${which}, ${turn}`
        const from = performance.now()
        const posted = await post(tenant, secret)
        if (posted.status === 200) answered.push({ id: posted.body.id, secret, from })
        else wrong.push(posted.text)
        const replaced = await put(tenant, posted.body.id, `${secret} again`)
        if (replaced.status !== 200 && replaced.status !== 404) wrong.push(replaced.text)
      }
    })
    await sleep(200)
    let last = 0
    for (let round = 0; round < 5; round += 1) {
      const written = answered.length
      expect(await shredTenant(workOn(tenant))).toMatchObject({ keys_destroyed: expect.any(Number) })
      for (const { id } of answered.slice(0, written)) expect(await secretOf(tenant, id)).toBeNull()
      last = performance.now()
      await sleep(50)
    }
    state.stopped = true
    await Promise.all(writers)
    expect(wrong).toEqual([])
    for (const { id, secret, from } of answered) {
      const found = await secretOf(tenant, id)
      if (found === null) expect(from).toBeLessThan(last)
      else expect([`${secret} again`, secret]).toContain(found)
    }
    expect((await keysOf(tenant)).filter((status) => status !== 'destroyed').length).toBeLessThanOrEqual(1)
  })

  it('finishes a shred and a rotation that run concurrently', async () => {
    for (let round = 0; round < 5; round += 1) {
      const tenant = await filled(12)
      const other = service.vault.openVault(service.database)
      const [rotated] = await Promise.all([
        rotateDataKey(workOn(tenant, other)),
        sleep(round * 8).then(() => shredTenant(workOn(tenant))),
      ])
      expect(rotated === null || rotated['finished'] === true || rotated['finished'] === false).toBe(true)
      expect(await shredTenant(workOn(tenant))).toHaveProperty('secrets_erased')
      expect(new Set(await keysOf(tenant))).toEqual(new Set(['destroyed']))
      await other.close()
    }
  })
})

/** Returns a `shouldStop` that returns true after this many calls. */
const stopAfter = (count: number) => {
  let left = count
  return () => (left -= 1) < 0
}

type Command = 'rotate' | 'rewrap' | 'shred'

const carryOut = (command: Command, work: KeyWork, toKeyArn: string): Promise<unknown> =>
  ({
    rotate: () => rotateToTheEnd(work),
    rewrap: () => rewrapDataKeys(work, toKeyArn),
    shred: () => shredTenant(work),
  })[command]()

async function expectDone(command: Command, tenant: Tenant & { secrets: Map<string, string> }, toKeyArn: string) {
  if (command === 'rotate') return expectRotated(tenant, tenant.secrets)
  if (command === 'shred') {
    expect(new Set(await keysOf(tenant))).toEqual(new Set(['destroyed']))
    for (const id of tenant.secrets.keys()) expect(await secretOf(tenant, id)).toBeNull()
    return
  }
  const keys = await service.sql`
    select from app.data_keys where tenant_id = ${tenant.id} and kms_key_arn <> ${toKeyArn} and wrapped_key is not null`
  expect(keys).toHaveLength(0)
  await expectAll(tenant, tenant.secrets)
}

describe.each<Command>(['rotate', 'rewrap', 'shred'])('%s', (command) => {
  it('resumes after an interruption before or after any commit', { timeout: 120_000 }, async () => {
    const toKeyArn = await anotherKmsKey()
    const tenant = await filled(4)
    let cuts = 0
    for (const when of ['before', 'after'] as const) {
      for (let step = 1; ; step += 1) {
        if (command === 'shred') {
          const { body } = await post(tenant, 'more')
          tenant.secrets.set(body.id, 'more')
        }
        const to = (step + (when === 'after' ? 1 : 0)) % 2 === 0 ? service.vault.keyArn : toKeyArn
        let calls = 0
        const vault = service.vault.openVault(service.database)
        const cutting = async <T>(transaction: () => Promise<T>): Promise<T> => {
          calls += 1
          if (calls === step && when === 'before') throw new Error('cut off')
          const done = await transaction()
          if (calls === step) throw new Error('cut off')
          return done
        }
        const { database } = vault
        const cut: Vault = {
          ...vault,
          database: {
            ...database,
            read: (work) => cutting(() => database.read(work)),
            write: (work) => cutting(() => database.write(work)),
          },
        }
        const outcome = await carryOut(command, workOn(tenant, cut), to).catch((error: Error) => error.message)
        await vault.close()
        if (outcome === 'cut off') {
          cuts += 1
          if (command !== 'shred') await expectAll(tenant, tenant.secrets)
        }
        await carryOut(command, workOn(tenant), to)
        await expectDone(command, tenant, to)
        if (outcome !== 'cut off') break
      }
    }
    expect(cuts).toBeGreaterThanOrEqual(2)
  })

  it('resumes in another process after SIGKILL', { timeout: 120_000 }, async () => {
    const tenant = await filled(40)
    const [first, second] = [await anotherKmsKey(), await anotherKmsKey()]
    const ends: string[] = []
    for (let round = 0; round < 4; round += 1) {
      const toKeyArn = round % 2 === 0 ? first : second
      const { database, vault } = service
      const options = {
        command,
        tenantId: tenant.id,
        operatorUrl: service.database.operatorUrl,
        vaultUrl: database.vaultUrl,
        kmsUrl: vault.kmsUrl,
        keyArn: vault.keyArn,
      }
      const child = fork(fileURLToPath(new URL('../../support/key-work-process.ts', import.meta.url)), {
        env: {
          PATH: process.env['PATH'],
          POWERTOOLS_LOG_LEVEL: 'SILENT',
          KEY_WORK: JSON.stringify({ ...options, toKeyArn }),
        },
        execArgv: [],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      const ended = once(child, 'exit')
      await once(child, 'message')
      await sleep(command === 'rotate' ? round * 60 : round * 8)
      child.kill('SIGKILL')
      const [code, signal] = await ended
      ends.push(String(signal ?? code))
      if (command !== 'shred') await expectAll(tenant, tenant.secrets)
      await carryOut(command, workOn(tenant), toKeyArn)
      await expectDone(command, tenant, toKeyArn)
      if (command === 'shred') {
        const { body } = await post(tenant, 'more')
        tenant.secrets.set(body.id, 'more')
      }
    }
    expect(ends).toContain('SIGKILL')
  })

  it('changes nothing while KMS is down and succeeds when it is back', async () => {
    const tenant = await filled(3)
    const toKeyArn = await anotherKmsKey()
    const rows = () => service.sql`
      select a.id, a.sealed_secret, a.data_key_id, k.status, k.wrapped_key from app.vendor_accounts a
        full join app.data_keys k on k.id = a.data_key_id
       where coalesce(a.tenant_id, k.tenant_id) = ${tenant.id} order by a.id, k.id`
    const before = await rows()
    const names = { rotate: 'rotate-data-key', rewrap: 'rewrap', shred: 'shred' } as const
    const give = () =>
      operateKeys(
        { ...service.worker, pepper: PEPPER, mailKey: MAIL_KEY, database: operators },
        command === 'rewrap'
          ? { command, slug: tenant.slug, key: toKeyArn }
          : { command: names[command], slug: tenant.slug },
        { ...workOn(tenant), vault: cold },
      )
    const cold = service.vault.openVault(service.database)
    for (const mode of ['refuse', 'hang']) {
      await service.vault.faults.set({ part: 'kms', mode })
      const asked = performance.now()
      const outcome = await give().catch((error: unknown) => error)
      if (command === 'shred') {
        // Shredding calls no KMS, so it succeeds.
        expect(outcome).toHaveProperty('done')
        break
      }
      expect(outcome).toEqual({ refused: expect.stringMatching(/KMS/) })
      // KMS gets two seconds.
      expect(performance.now() - asked).toBeLessThan(5000)
      expect(await rows()).toEqual(before)
    }
    await service.vault.faults.set({ part: 'kms', mode: 'ok' })
    expect(await give()).toHaveProperty('done')
    await expectDone(command, tenant, toKeyArn)
    await cold.close()
  })
})
