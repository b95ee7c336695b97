import { describe, expect, it } from 'vitest'
import { LOCAL_CALLER } from '#infra/local/aws/sts.ts'
import { newApiKey } from '#shared/secret/api-key.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { REASON, useOperator } from './operator-commands.ts'

const { service, command, piped } = useOperator()

const statusOf = async (key: string) => (await service.request('GET /v1/api-keys/current', { token: key })).status
const newKey = async () => {
  const { id: tenant, slug } = await service.newTenant('owner')
  return { tenant, slug, ...(await mintKey(service.sql, { tenant, permissions: ['deal.read'] })) }
}
const entryOf = (key: string) => service.sql`
  select action, actor_user_id, actor_key_id, after from app.audit_log where target_id = ${key}`
const TOLD = { operator: LOCAL_CALLER, reason: REASON }

describe('list-api-keys', () => {
  it('shows the keys of one tenant, and no key or hash', async () => {
    const { key, id, slug, tenant } = await newKey()
    const { stdout } = await command('list-api-keys', slug, '--json')
    const { done } = JSON.parse(stdout)
    expect(done).toMatchObject({ tenant_id: tenant, keys: [{ id, status: 'live', permissions: ['deal.read'] }] })
    expect(done.keys).toHaveLength(1)
    expect(Object.keys(done.keys[0]).filter((name) => name.includes('hash'))).toEqual([])
    expect(stdout).not.toContain(key)
  })
})

describe('revoke-api-key', () => {
  it('ends a key, says to the tenant who did and why, and publishes what the key could do', async () => {
    const { key, id, tenant } = await newKey()
    const done = JSON.parse((await command('revoke-api-key', id, '--json')).stdout)
    expect(done).toEqual({ done: { id, tenant_id: tenant } })
    expect(await statusOf(key)).toBe(401)
    expect(await entryOf(id)).toMatchObject([
      { action: 'api_key.revoked', actor_user_id: null, actor_key_id: null, after: TOLD },
    ])
    const events = await service.sql`select after from app.events where target_id = ${id}`
    expect(events).toMatchObject([{ after: { permissions: ['deal.read'], expires_at: expect.any(String) } }])
    expect(JSON.stringify(events)).not.toContain(REASON)
    expect((await command('revoke-api-key', id)).code).toBe(1)
    expect(await entryOf(id)).toHaveLength(1)
  })
})

describe('revoke-leaked-keys', () => {
  it('ends each key that a report has, prints ids and tenants and no key, and counts those that were not live', async () => {
    const [one, two, other] = [await newKey(), await newKey(), await newKey()]
    const report = `file.ts:3: const KEY = "${one.key}"\n${two.key}\n${two.key}\n${newApiKey()}\ntnk_${'a'.repeat(49)}`
    const finished = await piped(report, 'revoke-leaked-keys', '--json')
    expect(finished.code).toBe(0)
    const { done } = JSON.parse(finished.stdout)
    expect(done.not_live).toBe(1)
    expect(done.revoked.toSorted((a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id))).toEqual(
      [one, two].map(({ id, tenant: tenant_id }) => ({ id, tenant_id })).toSorted((a, b) => a.id.localeCompare(b.id)),
    )
    expect(finished.stdout + finished.stderr).not.toContain('tnk_')
    for (const { key, id } of [one, two]) {
      expect(await statusOf(key)).toBe(401)
      expect(await entryOf(id)).toMatchObject([{ action: 'api_key.revoked', after: { ...TOLD, by: 'possession' } }])
    }
    expect(await statusOf(other.key)).toBe(200)
    expect(await piped('nothing', 'revoke-leaked-keys')).toMatchObject({ code: 2 })
  })
})
