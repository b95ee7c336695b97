/** A row of app.events, as far as it leaves. */
export interface EventRow {
  readonly id: string
  readonly tenant_id: string
  readonly occurred_at: string
  readonly action: string
  readonly actor_user_id: string | null
  readonly actor_key_id: string | null
  readonly target_type: string
  readonly target_id: string | null
  /** The user of a membership; null for every other target. */
  readonly target_user_id: string | null
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

/** Returns the event as other services get it. Its actor is the platform for a job or a command of an operator. */
export const eventOf = (row: EventRow) => ({
  id: row.id,
  schema: 1 as const,
  occurred_at: row.occurred_at,
  tenant_id: row.tenant_id,
  actor: actorOf(row),
  subject: {
    type: row.target_type,
    id: row.target_id,
    ...(row.target_user_id !== null && { user_id: row.target_user_id }),
  },
  before: row.before,
  after: row.after,
})

function actorOf({ actor_user_id: user, actor_key_id: key }: EventRow) {
  if (key !== null) return { type: 'key' as const, id: key }
  return { type: user === null ? ('platform' as const) : ('user' as const), id: user }
}
