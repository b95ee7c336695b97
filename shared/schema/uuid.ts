/** A UUID as Postgres, Node.js and API Gateway write it. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A UUID that somebody else wrote, with letters of either case. */
export const UUID_IN_ANY_CASE = new RegExp(UUID.source, 'i')
