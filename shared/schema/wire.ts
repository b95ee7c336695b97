import * as v from 'valibot'

/** An id of anything. */
export const Id = v.pipe(v.string(), v.uuid(), v.examples(['0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b']))

/** A moment: RFC 3339 in UTC on the wire, a Date in the service. */
export const Timestamp = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.examples(['2026-11-02T09:30:00.000Z']),
  v.transform((text) => new Date(text)),
)
