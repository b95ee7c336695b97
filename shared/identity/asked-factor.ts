import * as v from 'valibot'
import { Timestamp } from '#shared/schema/timestamp.ts'

/** From when on a tenant asks the user's role for a second factor, and whether the session has proven one. */
export const AskedFactor = v.object({ required_from: Timestamp, satisfied: v.boolean() })

export type AskedFactor = Readonly<v.InferOutput<typeof AskedFactor>>

/** Returns what a tenant asks of a session. Null: the role needs no second factor. */
export const askedFactor = (requiredFrom: string | null, satisfied: boolean): AskedFactor | null =>
  requiredFrom === null ? null : { required_from: requiredFrom, satisfied }
