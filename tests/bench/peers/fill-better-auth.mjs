import { createHmac, randomBytes } from 'node:crypto'
import { hashPassword } from 'better-auth/crypto'
import { getMigrations } from 'better-auth/db/migration'
import { answerQuestions, givenOptions } from '../processes.ts'
import { configure } from './better-auth.mjs'

// Creates better-auth's tables and indexes with its own migrations, and fills them in the shape of the benchmark.
const { shape, password, ...given } = givenOptions()
const { pool, options } = configure({ ...given, cookieCache: false, url: 'http://127.0.0.1' })
const { runMigrations } = await getMigrations(options)
await runMigrations()

const tokens = Array.from({ length: shape.sessions }, () => randomBytes(24).toString('base64url'))
const { tenants, members, users } = shape
await pool.query(
  `insert into organization (id, name, slug, "createdAt")
   select md5('tenant' || n), 'Bench Tenant ' || n, 'bench-' || n, now() from generate_series(0, $1::int - 1) n`,
  [tenants],
)
await pool.query(
  `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
   select md5('user' || n), 'Person ' || n, 'person' || n || '@bench.test', true, now(), now()
     from generate_series(0, $1::int - 1) n`,
  [users],
)
await pool.query(
  `insert into account (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
   select md5('account' || n), md5('user' || n), 'credential', md5('user' || n), $2, now(), now()
     from generate_series(0, $1::int - 1) n`,
  [users, await hashPassword(password)],
)
await pool.query(
  `insert into member (id, "organizationId", "userId", role, "createdAt")
   select md5('member' || t || '-' || j), md5('tenant' || t), md5('user' || (t * ($3::int / $1::int) + j) % $3::int),
          case when j = 0 then 'owner' when j < 4 then 'admin'
               else (array['sales', 'account', 'designer', 'production', 'viewer'])[j % 5 + 1] end,
          now()
     from generate_series(0, $1::int - 1) t, generate_series(0, $2::int - 1) j`,
  [tenants, members, users],
)
await pool.query(
  `insert into session
     (id, token, "userId", "activeOrganizationId", "expiresAt", "createdAt", "updatedAt", "ipAddress", "userAgent")
   select md5('session' || i), token, m."userId", m."organizationId", now() + interval '7 days', now(), now(), '127.0.0.1', 'bench'
     from unnest($1::text[]) with ordinality as k (token, i)
     join (select *, row_number() over (order by id) - 1 as n from member) m on m.n = k.i % $2::int`,
  [tokens, tenants * members],
)
await pool.query('vacuum analyze')
const { rows } = await pool.query(
  `select s.token, m.role,
          (select array_agg(o."organizationId") from member o where o."userId" = s."userId") as tenants
     from session s join member m on m."userId" = s."userId" and m."organizationId" = s."activeOrganizationId"`,
)
await pool.end()

const signed = (token) => encodeURIComponent(`${token}.${createHmac('sha256', given.secret).update(token).digest('base64')}`)
answerQuestions(
  {
    sessions: rows.map(({ token, role, tenants }) => ({ token: signed(token), role, tenants })),
    emails: Array.from({ length: users }, (_, n) => `person${n}@bench.test`),
  },
  () => ({}),
)
