import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

/** The id of any object of the API. */
export const Id = v.pipe(
  v.string(fault({ code: 'invalid' })),
  v.uuid(),
  v.examples(['0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b']),
)

/** An id in a path, in any case. */
export const PathId = v.pipe(Id, v.toLowerCase())

/** The id of a role in a path. */
export const IntegerId = v.pipe(v.string(), v.regex(/^[1-9]\d{0,8}$/), v.examples(['100']))
