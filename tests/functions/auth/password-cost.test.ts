import { describe, expect, it, onTestFinished } from 'vitest'
import postgres from 'postgres'
import { hashPassword } from '#shared/password/argon2.ts'
import { createUser } from '#tests/support/minted-session.ts'
import { PASSWORD, startService } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

async function createdAt(memoryKib: number, iterations = 1, on = service): Promise<string> {
  const email = `cost-${memoryKib}-${iterations}@cost.test`
  await createUser(on.sql, { email })
  const hash = await hashPassword(PASSWORD, { memoryKib, iterations })
  await on.sql`update app.users set password_hash = ${hash} where email = ${email}`
  return email
}
const costOf = (salt: string) => salt.split('$')[3]

describe('the cost of a password comparison', () => {
  it('is that of all stored passwords for every address, and no caller can choose it', async () => {
    const auth = postgres(service.database.urls.auth, { max: 1, fetch_types: false, onnotice: () => {} })
    onTestFinished(() => auth.end())
    const saltOf = async (email: string) => {
      const [row] = await auth<{ salt: string; costs: [number, number][] }[]>`
        select * from app.password_salt(${email})`
      return row
    }
    const before = (await saltOf('nobody@cost.test'))?.costs ?? []
    const costly = await createdAt(2048, 2)
    expect((await saltOf('nobody@cost.test'))?.costs).toEqual([[2048, 2], ...before])
    expect(costOf((await saltOf('nobody@cost.test'))?.salt ?? '')).toBe('m=2048,t=2,p=1')
    expect(costOf((await saltOf(costly))?.salt ?? '')).toBe('m=2048,t=2,p=1')
    // As after a setting was lowered.
    const cheap = await createdAt(64)
    expect(costOf((await saltOf(cheap))?.salt ?? '')).toBe('m=64,t=1,p=1')
    expect(costOf((await saltOf('nobody@cost.test'))?.salt ?? '')).toBe('m=2048,t=2,p=1')
    // Of more work, though of less memory.
    await createdAt(1024, 5)
    const all = (await saltOf('nobody@cost.test'))?.costs ?? []
    expect(all.slice(0, 2)).toEqual([
      [1024, 5],
      [2048, 2],
    ])
    expect(all).toContainEqual([64, 1])
    // The service computes no such hash.
    for (const cost of ['m=262145,t=16', 'm=9,t=17', 'm=7,t=1', 'm=99999999999999999999,t=1'])
      await service.sql`update app.users set password_hash = ${`$argon2id$v=19$${cost},p=1$AAAA$AAAA`} where email = ${costly}`
    for (const email of ['nobody@cost.test', costly, cheap]) expect((await saltOf(email))?.costs).toEqual(all)
    await expect(auth`delete from app.password_costs`).rejects.toMatchObject({ code: '42501' })
    await expect(auth`select app.password_salt('a@b.test', '$argon2id$v=19$m=8,t=1,p=1')`).rejects.toMatchObject({
      code: '42883',
    })
  })

  it('signs in with a password of any earlier cost, and stores it at the current one', async () => {
    const lowered = await startService({ env: { ARGON2_MEMORY_KIB: '128', ARGON2_ITERATIONS: '1' } })
    onTestFinished(() => lowered.close())
    for (const email of [await createdAt(512, 2, lowered), await createdAt(64, 1, lowered)]) {
      await lowered.signIn(email)
      const [row] = await lowered.sql<
        { password_hash: string }[]
      >`select password_hash from app.users where email = ${email}`
      expect(costOf(row?.password_hash ?? '')).toBe('m=128,t=1,p=1')
      await lowered.signIn(email)
    }
  })
})

describe('the guesses of a login of the database', () => {
  it('end after a thousand wrong digests for an address, with whatever limits it names', async () => {
    const auth = postgres(service.database.urls.auth, { max: 1, fetch_types: false, onnotice: () => {} })
    onTestFinished(() => auth.end())
    // A refusal is a row of nulls, and a wrong digest no row.
    const refusedOf = async (email: string, count: number) => {
      const [row] = await auth<{ refused: number }[]>`
        select count(*)::int as refused
          from generate_series(1, ${count}::int) n
          cross join lateral app.sign_in(${email}, sha256(n::text::bytea), sha256('t'), sha256('c'), sha256('k'), null, 9, 9, 9,
            row('r', null, null)::app.source) g`
      return row?.refused
    }
    for (const email of ['guessed@cost.test', 'owner@acme.test']) {
      await service.sql`delete from app.rate_limits`
      expect(await refusedOf(email, 999), email).toBe(0)
      expect(await refusedOf(email.toUpperCase(), 3), email).toBe(2)
    }
    expect(await service.signIn('sales@acme.test')).toHaveLength(43)
  })
})
