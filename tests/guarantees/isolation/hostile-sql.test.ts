import { createHash, randomBytes, randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { errorCode } from '#shared/db/failure.ts'
import { loginName } from '#shared/db/role-settings.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { proofFor, ticketFor } from '#tests/support/proof.ts'
import { ATTACKS, POOLED } from './hostile-sql.ts'
import type { Attack } from './hostile-sql/attack.ts'

// Each attack is SQL that an injection could run as a role of the service, in the scope of tenant A. Everything that comes
// back is searched for what belongs to tenant B, and for any hash or key: rows, counts, errors with detail, and notices.

const database = await createTestDatabase()
const { admin } = database
afterAll(() => database.drop())

const ids = await admin<{ id: string }[]>`select id from app.tenants order by slug limit 2`
const [A = '', B = ''] = ids.map(({ id }) => id)
// Letters only: a name may not have seven digits in a row.
const mark = `bee${randomUUID()
  .slice(0, 8)
  .replace(/\d/g, (digit) => 'ghijklmnop'.charAt(Number(digit)))}`
const secret = (what: string) => createHash('sha256').update(`${mark} ${what}`).digest()
const email = `${mark}@shop-b.test`
const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
const [person] = await admin<{ id: string }[]>`
  insert into app.users (email, full_name, password_hash)
  values (${email}, ${`${mark} name`},
          ${`$argon2id$v=19$m=64,t=1,p=1$${base64(secret('salt').subarray(16))}$${base64(secret('password'))}`})
  returning id`
await admin`update app.users set resets_valid_from = now() where id = ${person?.id ?? ''}`
await admin`insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${B}, ${person?.id ?? ''}, 1, now())`
await admin`update app.tenants set legal_name = ${`${mark} legal`} where id = ${B}`
const [session] = await admin<{ id: string }[]>`
  insert into app.sessions (token_key, csrf_secret, user_id, tenant_id, idle_expires_at, absolute_expires_at, user_agent)
  values (${secret('session')}, ${secret('csrf')}, ${person?.id ?? ''}, ${B}, now() + interval '1 day', now() + interval '1 day', ${mark})
  returning id`
await admin`
  insert into app.sessions (token_key, csrf_secret, user_id, idle_expires_at, absolute_expires_at, revoked_at)
  values (${secret('ended')}, ${secret('csrf')}, ${person?.id ?? ''}, now() + interval '1 day', now() + interval '1 day', now())`
await admin`
  insert into app.tokens (token_hash, purpose, user_id, expires_at, consumed_at)
  values (${secret('reset')}, 'password_reset', ${person?.id ?? ''}, now() + interval '1 day', now())`
await admin`
  insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
  values (${secret('invite')}, 'invite', ${B}, ${`${mark}-new@shop-b.test`}, 1, now() + interval '1 day')`
await admin`
  insert into app.styles (tenant_id, style_number, name, brand, category) values (${B}, ${mark}, ${mark}, ${mark}, 'Test')`
await admin`
  insert into app.jobs (tenant_id, kind, payload, idempotency_key) values (${B}, 'planted', ${admin.json({ mark })}, ${mark})`
// A mail that is due, of a member of A.
await admin`
  insert into app.jobs (kind, payload, idempotency_key)
  select 'mail', jsonb_build_object('template', 'password-changed', 'user_id', user_id), 'a mail'
    from app.memberships where tenant_id = ${A} limit 1`
await admin`insert into app.audit_log (tenant_id, action, target_type, request_id) values (${B}, 'a.b', 'c', ${mark})`
const [key] = await admin<{ id: string }[]>`
  insert into app.data_keys (tenant_id, purpose, kms_key_arn, wrapped_key)
  values (${B}, 'vendor-credential', ${mark}, ${secret('data key')}) returning id`
const [account] = await admin<{ id: string }[]>`
  insert into app.vendor_accounts (tenant_id, vendor, account_number, status, sealed_secret, data_key_id)
  values (${B}, 'sanmar', ${mark}, 'unverified', ${Buffer.concat([secret('sealed'), randomBytes(32)])}, ${key?.id ?? ''})
  returning id`

await admin`
  insert into app.service_keys (name, key_hash, scopes, created_by, created_reason)
  values ('billing', ${secret('service key')}, '{introspect,changes,memberships}', ${mark}, ${mark})`

const [apiKey] = await admin<{ id: string }[]>`
  insert into app.api_keys (tenant_id, name, key_hash, hint, previous_hash, previous_expires_at, generation, created_by, expires_at)
  values (${B}, ${mark}, ${secret('api key')}, 'abcd', ${secret('previous api key')}, now() + interval '1 hour', 1, ${person?.id ?? ''},
          now() + interval '1 day')
  returning id`

/** Fills the ids in that an attacker may know. */
const filled = (text: string) =>
  text
    .replaceAll('{scope of B}', `00${B.replaceAll('-', '')}${'0'.repeat(32)}`)
    .replaceAll('{A}', A)
    .replaceAll('{B}', B)
    .replaceAll('{person}', person?.id ?? '')
    .replaceAll('{email}', email)
    .replaceAll('{session}', session?.id ?? '')
    .replaceAll('{account}', account?.id ?? '')
    .replaceAll('{key}', apiKey?.id ?? '')

const seal = await admin<{ key: Buffer }[]>`
  select unnest(array[scope_key, ticket_key, proof_key, salt_key]) as key from app.seal`
const hashes = [
  ...[
    'password',
    'session',
    'csrf',
    'ended',
    'reset',
    'invite',
    'data key',
    'sealed',
    'service key',
    'api key',
    'previous api key',
  ].map(secret),
  ...seal.map(({ key }) => key),
]
// As text, and as the plans that Postgres prints show it: its bytes as decimal numbers, signed or not by the processor.
const decimal = (bytes: Uint8Array) => [bytes.join(' '), new Int8Array(bytes).join(' ')]
const forms = (bytes: Buffer) => [bytes.toString('hex'), base64(bytes), ...decimal(bytes.subarray(0, 8))]
const SECRETS = hashes.flatMap(forms)
const ROWS = [mark, Buffer.from(mark).join(' ')]

/** Runs statements as a role, in the scope of A if the role may enter one. Returns everything that came back. */
async function run({ role, scope = 'read write', statements }: Attack & { scope?: string }) {
  const name = SERVICE_ROLES.find((service) => loginName(service) === role) ?? 'app'
  const seen: unknown[] = []
  const sql = postgres(database.urls[name], { max: 1, fetch_types: false, onnotice: (notice) => seen.push(notice) })
  await sql.unsafe(`begin ${scope}`)
  const ticket = await ticketFor(admin, A)
  // They may enter no tenant.
  const outside = ['identity_auth', 'identity_services', 'identity_mailer', 'identity_opener', 'identity_publisher']
  if (outside.includes(role)) await sql`select`
  else if (scope === 'read only') await sql`select app.enter_to_read(${ticket})`
  else await sql`select app.enter_to_write(${ticket}, null, false)`
  const codes: string[] = []
  let rows = 0
  for (const statement of statements) {
    await sql`savepoint attack`
    try {
      const result = await sql.unsafe(filled(statement).replaceAll('{ticket}', `\\x${ticket.toString('hex')}`))
      rows += result.count ?? 0
      codes.push('')
      seen.push(result)
    } catch (error) {
      codes.push(errorCode(error))
      // The query of an error is the attack's own text.
      seen.push({ ...(error as object), query: undefined, message: String(error) })
      await sql`rollback to savepoint attack`
    }
  }
  await sql`rollback`
  await sql.end()
  const sought = role === 'identity_operator' ? SECRETS : [...SECRETS, ...ROWS]
  const text = JSON.stringify(seen, (_name, value: unknown) =>
    Buffer.isBuffer(value)
      ? value.toString('hex')
      : value instanceof Uint8Array
        ? Buffer.from(value).toString('hex')
        : value,
  ).replaceAll(/\{"type":"Buffer","data":\[([\d,]*)\]\}/g, (_all, data: string) =>
    Buffer.from(data.split(',').map(Number)).toString('hex'),
  )
  return { codes, rows, leaks: sought.filter((value) => text.includes(value)) }
}

const byRole = Object.entries(Object.groupBy(ATTACKS, ({ role }) => role))
describe.each(byRole)('SQL injected as %s', (role, attacks = []) => {
  const statements = attacks.reduce((sum, attack) => sum + attack.statements.length, 0)
  const scopes = role === 'identity_app' ? ['read only', 'read write'] : ['read write']
  describe.each(scopes)(`in a %s scope, ${statements} statements`, (scope) => {
    test.each(attacks)('$what', async (attack) => {
      if (attack.kind === 'writes' && scope === 'read only') return
      const { codes, rows, leaks } = await run({ ...attack, scope })
      const succeeded = leaks.length > 0 || (attack.kind === 'writes' && rows > 0)
      expect(succeeded, `${leaks.join()} rows: ${rows}`).toBe(false)
      // 25006: the transaction only reads.
      const refusals = scope === 'read only' ? ['42501', '25006'] : ['42501']
      if (attack.kind === 'refused') for (const code of codes) expect(refusals, codes.join()).toContain(code)
    })
  })
})

test.each(POOLED)(
  'what is left on a pooled connection reads nothing of the next caller: $what',
  async ({ plant, loot }) => {
    const db = connectTo(database.appUrl, { connections: 1, prepare: true })
    const seen: unknown[] = []
    const tag = (text: string) => Object.assign([filled(text)], { raw: [filled(text)] })
    const attempt = async (statements: readonly string[]) => {
      const outcome = db.write(async (sql) => {
        await proofFor(admin, A).enter(sql)
        for (const statement of statements) seen.push(await sql(tag(statement)))
      })
      await outcome.catch((error: unknown) => seen.push(String(error)))
    }
    const victim = () =>
      proofFor(admin, B).read(
        db,
        (sql) =>
          sql`select u.email from app.memberships m join app.users u on u.id = m.user_id where m.tenant_id = ${B}::uuid`,
      )
    expect(JSON.stringify(await victim())).toContain(mark)
    await attempt(plant)
    expect(JSON.stringify(await victim())).toContain(mark)
    await attempt(loot)
    await db.close()
    expect(JSON.stringify(seen)).not.toContain(mark)
  },
)
