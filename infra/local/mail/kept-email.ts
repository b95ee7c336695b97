import * as v from 'valibot'

/** An email as the mailbox stores it. */
export const KeptEmail = v.object({
  id: v.string(),
  to: v.string(),
  from: v.string(),
  copies: v.string(),
  subject: v.string(),
  headers: v.optional(v.array(v.string()), []),
  text: v.nullable(v.string()),
  html: v.nullable(v.string()),
  received_at: v.string(),
})

export type Message = Readonly<v.InferOutput<typeof KeptEmail>>
