import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { addSecondFactor } from '#infra/local/seed-secured.ts'
import { newRecoveryCodes } from '#shared/factor/code.ts'
import { newTotpSecret } from '#shared/factor/totp.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { FACTOR_KEY, PEPPER } from '#tests/support/settings.ts'
import { contradictionsIn } from './contradictions.ts'

let database: TestDatabase
let people = 0
let person: { readonly id: string; readonly email: string }
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  people += 1
  const email = `person${people}@acme.test`
  person = { email, id: await createUser(database.admin, { email, slugs: ['acme-print'] }) }
  const factor = { totpSecret: newTotpSecret(), recoveryCodes: newRecoveryCodes() }
  await addSecondFactor(database.admin, person.id, { pepper: PEPPER, factorKey: FACTOR_KEY, ...factor })
})

/** Returns the kinds of contradictions with this id. */
const named = async (id: string) =>
  (await contradictionsIn(database.admin)).filter((text) => text.includes(id)).map((text) => text.split(',')[0])

it('finds no contradiction in a user whose second factor was proven', async () => {
  const { id } = await mintSession(database.admin, person)
  await database.admin`update app.sessions set second_factor_at = now() where id = ${id}`
  expect([await named(id), await named(person.id)]).toEqual([[], []])
})

it('names a session without the second factor that its user has', async () => {
  const { id } = await mintSession(database.admin, person)
  expect(await named(id)).toEqual(['a session without the second factor that its user has'])
})

it('names a user of whose recovery codes one was used without an audit entry and a mail', async () => {
  await database.admin`
    update app.tokens set consumed_at = now(), expires_at = now()
     where id = (select id from app.tokens where user_id = ${person.id} limit 1)`
  expect(await named(person.id)).toEqual([
    'a user whose used recovery codes are not those of the audit log',
    'a user whose used recovery codes are not those that were mailed',
  ])
})
