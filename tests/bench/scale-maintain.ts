import type postgres from 'postgres'
import { maintain } from '#functions/workers/maintain/maintain.ts'
import type { Sql } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'

/** What `maintain` costs. Times are in milliseconds. */
export interface Maintained {
  /** Without anything to delete. */
  readonly emptyBuffers: number
  /** The statements that read most of them. */
  readonly emptyStatements: readonly { readonly statement: string; readonly buffers: number }[]
  readonly emptyMs: number
  /** The rows of an hour at this many sign-ins a second, and the time to delete them while as many sign in. */
  readonly perSecond: number
  readonly deleted: number
  readonly backlogMs: number
  /** How long the schedule lets it run. */
  readonly mostMs: number
  /** The longest transaction that deletes a batch. It has locked its rows for as long. */
  readonly longestMs: number
  readonly signedIn: number
}

const HOUR_SECONDS = 3600
const PAUSE_MS = 100
const WARM_UPS = 3
// Its timeout is 120 s, of which it keeps 10 in reserve.
const MOST_MS = 110_000

/** Runs `maintain` as its login, with nothing to delete, then with the rows that an hour of sign-ins has left. */
export async function measureMaintain({
  urls,
  owner,
  admin,
  backlog,
}: {
  urls: Readonly<Record<'worker', string>>
  /** A superuser on the database, and one beside it. */
  owner: postgres.Sql
  admin: postgres.Sql
  backlog: number
}): Promise<Maintained> {
  const database = connectTo(urls.worker)
  try {
    const times: number[] = []
    const sql = timed(database.sql, times)
    const run = async () => {
      times.length = 0
      const started = performance.now()
      const { deleted } = await maintain(sql, () => false)
      return { deleted, ms: performance.now() - started, longestMs: Math.max(...times) }
    }
    const buffers = async () =>
      new Map(
        (
          await admin<{ query: string; read: string }[]>`
            select s.query, sum(s.shared_blks_hit + s.shared_blks_read) as read
              from pg_stat_statements s join pg_roles r on r.oid = s.userid
             where r.rolname = 'identity_worker' group by s.query`
        ).map(({ query, read }) => [query, Number(read)]),
      )
    // The first runs make partitions, delete what the data has left, and read the catalogue.
    for (let runs = 0; runs < WARM_UPS; runs += 1) await run()
    const before = await buffers()
    const empty = await run()
    const emptyStatements = [...(await buffers())]
      .map(([query, read]) => ({
        statement: query.replaceAll(/\s+/g, ' ').trim().slice(0, 80),
        buffers: read - (before.get(query) ?? 0),
      }))
      .filter((each) => each.buffers > 0)
      .toSorted((one, other) => other.buffers - one.buffers)
    const emptyBuffers = emptyStatements.reduce((sum, each) => sum + each.buffers, 0)

    const perSecond = backlog / HOUR_SECONDS
    await addEnded(owner, backlog)
    let signedIn = 0
    let last = performance.now()
    let adding = Promise.resolve()
    const timer = setInterval(() => {
      const now = performance.now()
      const due = Math.round(((now - last) / 1000) * perSecond)
      last = now
      signedIn += due
      adding = adding.then(() => addSignIns(owner, due))
    }, PAUSE_MS)
    const { deleted, ms, longestMs } = await run()
    clearInterval(timer)
    await adding
    return {
      emptyBuffers,
      emptyStatements,
      emptyMs: empty.ms,
      perSecond,
      deleted,
      backlogMs: ms,
      mostMs: MOST_MS,
      longestMs,
      signedIn,
    }
  } finally {
    await database.close()
  }
}

/** Returns a tag that adds the time of each statement. */
function timed(sql: Sql, times: number[]): Sql {
  return new Proxy(sql, {
    apply: async (target, self, args) => {
      const started = performance.now()
      const rows: unknown = await Reflect.apply(target, self, args)
      times.push(performance.now() - started)
      return rows
    },
  })
}

/** The rows of `count` sign-ins whose sessions ended long ago. */
async function addEnded(owner: postgres.Sql, count: number): Promise<void> {
  await owner`set session_replication_role = replica`
  await owner`
    insert into app.sessions (token_key, user_id, csrf_secret, created_at, last_seen_at, idle_expires_at, absolute_expires_at)
    select sha256(('ended' || i)::bytea), u.id, sha256(i::text::bytea), at, at, at, at
      from generate_series(1, ${count}::int) i
      cross join lateral (select now() - interval '31 days' + interval '1 hour' * i / ${count}::int as at) ended
      join (select id, row_number() over () - 1 as n from app.users) u on u.n = i % (select count(*) from app.users)`
  await owner`
    insert into app.known_networks (key, seen_at)
    select sha256(('network' || i)::bytea), now() - interval '31 days' from generate_series(1, ${count}::int) i`
  await owner`
    insert into app.rate_limits (key, window_start, attempts)
    select sha256(('limit' || i)::bytea), date_trunc('hour', now() - interval '3 days'), 1 from generate_series(1, ${count}::int) i`
  await owner`set session_replication_role = default`
  await owner`analyze app.sessions, app.known_networks, app.rate_limits`
}

/** The rows of sign-ins that happen now. */
async function addSignIns(owner: postgres.Sql, count: number): Promise<void> {
  await owner`
    with new as (select gen_random_uuid() as id from generate_series(1, ${count}::int)),
         network as (insert into app.known_networks (key) select sha256(id::text::bytea) from new)
    insert into app.sessions (token_key, user_id, csrf_secret, idle_expires_at, absolute_expires_at)
    select sha256(id::text::bytea), (select u.id from app.users u limit 1), sha256(id::text::bytea),
           now() + interval '12 hours', now() + interval '7 days'
      from new`
}
