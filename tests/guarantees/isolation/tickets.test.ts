import { readdir, readFile } from 'node:fs/promises'
import type postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MIGRATIONS } from '#infra/local/postgres/database.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { type MintedKey, mintKey } from '#tests/support/minted-key.ts'
import { createUser, mintSession, tenantId } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { ofKind } from './forged-tickets.ts'
import { attempt } from './guarantee.ts'

let database: TestDatabase
let sql: postgres.ReservedSql
let tenant = ''
let user = ''
let session = ''
let key: MintedKey
/** The ticket of a session with each byte of a kind, in hex. */
const tickets: Record<string, string> = {}
/** Every SECURITY DEFINER function that takes a ticket or a proof, with the arguments of a call. */
let takers: { name: string; takes: 'p_ticket' | 'p_proof'; call: string }[] = []

const KINDS = { session: '73', job: '6a', operator: '6f', key: '6b', unknown: '78', none: '00' }
type Kind = keyof typeof KINDS

beforeAll(async () => {
  database = await createTestDatabase()
  sql = await database.admin.reserve()
  tenant = await tenantId(sql, 'acme-print')
  user = await createUser(sql, { email: 'kinds@acme.test', slugs: ['acme-print'] })
  session = (await mintSession(sql, { email: 'kinds@acme.test', slug: 'acme-print' })).id
  await sql`begin`
  const ticket = (await ticketOf(sql, session)).toString('hex')
  for (const [kind, byte] of Object.entries(KINDS)) tickets[kind] = await forged(ticket, byte)
  key = await mintKey(sql, { tenant, permissions: ['company.read'] })
  tickets['key'] = await made(`encode(app.seal_ticket('key', $1, $2, p_role => 0), 'hex')`, [tenant, key.id])
  for (const kind of ['job', 'operator'])
    tickets[kind] = await made(`encode(app.seal_ticket($1, $2, p_may_write => true), 'hex')`, [kind, tenant])
  takers = await sql<typeof takers>`
    select p.proname as name, min(a.name) filter (where a.name in ('p_ticket', 'p_proof')) as takes,
           format('app.%I(%s)', p.proname, string_agg(
             case when a.name in ('p_ticket', 'p_proof') then $$decode($1, 'hex')$$
                  -- Functions count before they look at the ticket, and would find that null is the limit.
                  when a.type = 'app.limit'::regtype then $$(sha256('x'), 9, 60)::app.limit$$
                  when a.type = 'integer'::regtype then '9'
                  when a.type = 'bytea'::regtype then $$sha256('x')$$
                  else format('null::%s', a.type) end,
             ', ' order by a.position)) as call
      from pg_proc p, unnest(p.proargnames[1:p.pronargs], p.proargtypes::regtype[]) with ordinality as a (name, type, position)
     where p.pronamespace = 'app'::regnamespace and p.prosecdef and p.proname <> 'check_ticket'
     group by p.oid having bool_or(a.name in ('p_ticket', 'p_proof'))`
})
afterAll(async () => {
  await sql`rollback`
  sql.release()
  await database.drop()
})

async function made(expression: string, parameters: string[]): Promise<string> {
  const [row] = await sql.unsafe<{ made: string }[]>(`select ${expression} as made`, parameters)
  return row?.made ?? ''
}

/** Returns the ticket of another kind, and stays the superuser. */
async function forged(ticket: string, kind: string, key: 'ticket_key' | 'proof_key' = 'ticket_key'): Promise<string> {
  const made = await ofKind(sql, ticket, kind, key)
  await sql`set local role none`
  return made
}

/** Runs in a savepoint that is rolled back, as read only where the function asks for it. */
async function inSavepoint<T>(name: string, work: () => Promise<T>): Promise<T> {
  await sql`savepoint called`
  try {
    if (['enter_to_read', 'enter'].includes(name)) await sql`set transaction read only`
    return await work()
  } finally {
    await sql`rollback to savepoint called`
  }
}

const sealedByAnother = (code: string) => code === 'TN500'
const proofOf = (kind: Kind) => forged(tickets[kind] ?? '', KINDS[kind], 'proof_key')

describe('a ticket', () => {
  it('is taken by functions that the catalogue lists', () => {
    expect(takers.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'enter',
        'enter_to_read',
        'enter_to_write',
        'enter_session',
        'service_proof',
        'list_members',
      ]),
    )
  })

  const ANY = new Set(['enter_to_read', 'enter_to_write'])
  const OF_KEYS = new Set([...ANY, 'service_proof', 'enter'])
  it.each<[Kind, (name: string) => boolean]>([
    ['session', () => true],
    ['job', (name) => ANY.has(name)],
    ['operator', (name) => ANY.has(name)],
    ['key', (name) => OF_KEYS.has(name)],
    ['unknown', () => false],
    ['none', () => false],
  ])('of the kind %s is accepted by the functions of its kind alone', async (kind, accepts) => {
    for (const { name, takes, call } of takers) {
      const sent = takes === 'p_proof' ? await proofOf(kind) : (tickets[kind] ?? '')
      const { code } = await inSavepoint(name, () => attempt(sql, `select ${call}`, [sent]))
      expect(sealedByAnother(code), `${name} said ${code || 'yes'} to ${kind}`).toBe(!accepts(name))
    }
  })

  it('of a kind is no ticket of another kind for app.check_ticket', async () => {
    const check = "select kind from app.check_ticket(decode($1, 'hex'), variadic $2::text::text[])"
    const kinds = Object.keys(KINDS)
    for (const kind of kinds) {
      for (const wanted of kinds) {
        const { code } = await attempt(sql, check, [tickets[kind] ?? '', `{${wanted}}`])
        const known = ['session', 'key', 'job', 'operator'].includes(kind)
        expect(code, `${kind} as ${wanted}`).toBe(known && kind === wanted ? '' : 'TN500')
      }
    }
  })

  it('is no proof, and a proof is no ticket, whatever its kind', async () => {
    for (const kind of Object.keys(KINDS) as Kind[]) {
      const proof = await proofOf(kind)
      for (const { name, takes, call } of takers) {
        const swapped = takes === 'p_proof' ? (tickets[kind] ?? '') : proof
        const { code } = await inSavepoint(name, () => attempt(sql, `select ${call}`, [swapped]))
        expect(code, `${name} of ${kind}`).toBe('TN500')
      }
    }
  })

  it('says which session it is of, and how and when the user signed in', async () => {
    const [found] = await sql`
      select t.kind, t.tenant_id, t.user_id, t.session_id, t.method, t.signed_in_at = s.created_at as at_sign_in, t.may_write
        from app.sessions s, app.check_ticket(decode(${tickets['session'] ?? ''}, 'hex'), 'session') t where s.id = ${session}`
    expect(found).toEqual({
      kind: 'session',
      tenant_id: tenant,
      user_id: user,
      session_id: session,
      method: 'password',
      at_sign_in: true,
      may_write: null,
    })
  })

  it('of a key says which key it is, and neither a user nor a session', async () => {
    const [found] = await sql`
      select t.* from app.check_ticket(decode(${tickets['key'] ?? ''}, 'hex'), 'key') t`
    const nothing = {
      user_id: null,
      session_id: null,
      role_id: null,
      method: null,
      signed_in_at: null,
      may_write: null,
    }
    expect(found).toEqual({ kind: 'key', tenant_id: tenant, key_id: key.id, generation: 0, ...nothing })
  })

  it('of a job or an operator that may read writes nothing', async () => {
    for (const kind of ['job', 'operator']) {
      const entered = (mayWrite: boolean) =>
        attempt(sql, `select app.enter_to_write(app.seal_ticket($1, $2, p_may_write => ${mayWrite}), null, false)`, [
          kind,
          tenant,
        ])
      expect((await entered(false)).code).toBe('TN403')
      expect((await entered(true)).code).toBe('')
    }
  })
})

describe('the migrations', () => {
  it('read and make the bytes of a ticket in one file', async () => {
    const names = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql'))
    const reading =
      /\b(?:substr|substring|overlay|get_byte|set_byte|get_bit|left|right|encode|int4send)\s*\((?:[^()]|\([^()]*\))*\b\w*(?:ticket|proof)\b|\b(?:ticket_key|proof_key)\b/i
    const found = []
    for (const name of names) {
      const text = await readFile(`${MIGRATIONS}${name}`, 'utf8')
      const code = text.replaceAll(/--.*$/gm, '').replaceAll(/comment on [^;]*;/g, '')
      if (reading.test(code)) found.push(name)
    }
    expect(found).toEqual(['0002-tenant-guard.sql'])
  })
})
