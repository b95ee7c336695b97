import * as v from 'valibot'
import { eventOf } from '#shared/audit/event.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Id } from '#shared/schema/id.ts'
import { AgePageQuery, cursorOf, encodeCursor } from '#shared/schema/page.ts'
import { changesAfter } from './queries.ts'
import { wrongKey } from './wrong-key.ts'

const isTransaction = (text: string): boolean => /^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n

const Keys = v.nullable(v.pipe(v.record(v.string(), v.unknown()), v.examples([{ role: 'sales' }])))
const Code = v.pipe(v.string(), v.examples(['membership']))

const Change = v.pipe(
  v.object({
    action: v.pipe(v.string(), v.examples(['membership.role_changed'])),
    detail: v.object({
      id: v.pipe(Id, v.description('The same for each copy of the event.')),
      schema: v.literal(1),
      occurred_at: v.pipe(v.string(), v.isoTimestamp(), v.examples(['2026-11-02T09:30:00.000Z'])),
      tenant_id: Id,
      actor: v.object({ type: v.picklist(['user', 'key', 'platform']), id: v.nullable(Id) }),
      subject: v.object({
        type: Code,
        id: v.nullable(Id),
        user_id: v.optional(v.pipe(Id, v.description('The user of the membership, if the subject is one.'))),
      }),
      before: Keys,
      after: Keys,
    }),
  }),
  v.title('Change'),
)

export const listChanges = endpoint({
  route: 'GET /v1/changes',
  access: 'service',
  summary: 'The events of all tenants, oldest first, from a position on',
  description:
    'The same events as on the event bus, for a service that checks that it missed none. Store `next` when you have handled the ' +
    'page, and send it as `after`. An event appears when every transaction that began before its own has ended, so no later page ' +
    'has an event of an earlier place. An event stays for 30 days after it reached the bus. A position that is so old that an event after it is deleted gets a 410: read ' +
    '`GET /v1/memberships`, which says where to resume. `GET /v1/events/schemas` has the ' +
    'schema of each `detail`. It takes a key with the scope `changes`.',
  query: v.object({
    limit: AgePageQuery.limit,
    after: v.optional(
      cursorOf(
        v.pipe(v.string(), v.check(isTransaction)),
        'The `next` of the previous page. Without it: the oldest events.',
      ),
    ),
  }),
  reply: v.object({
    data: v.array(Change),
    next: v.pipe(
      v.string(),
      v.examples(['WyI3MTIiLCIwYTViOGY1Mi02YzFkLTRmN2UtOWIzYS0yZDRjNmU4ZjBhMWIiXQ']),
      v.description('The position after this page, also when the page is empty.'),
    ),
    complete: v.pipe(
      v.boolean(),
      v.description(
        'Whether no event had committed that follows this page. False for a full page, and while a transaction that is still open holds later events back.',
      ),
    ),
  }),
  problems: [403, 'rate-limited', 'position-expired'],
  async handle({ query: { after = null, limit }, client, runtime, serviceKey, call }) {
    const asking = { name: serviceKey.name, key: serviceKey.hashes(runtime) }
    const found = await changesAfter(call.repeatable, asking, { after, limit })
    if (found === 'wrong key') throw await wrongKey({ client, runtime })
    return ok({
      data: found.changes.map((change) => ({ action: change.action, detail: eventOf(change) })),
      next: encodeCursor(found.next),
      complete: found.complete,
    })
  },
})
