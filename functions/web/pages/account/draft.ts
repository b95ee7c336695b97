import { type Client, ProblemError, type ReplyOf } from '#shared/client/client.ts'
import { FormRefused } from '#web/http/refusal.ts'
import type { Texts } from '#web/texts/texts.ts'

export type Draft = ReplyOf<'GET /v1/auth/factors/draft'>

/**
 * Requires that the draft is the one that the page showed: another tab may have made other recovery codes, which the person did not save.
 * `shown`: the time when that one expires. The API refuses a draft that is missing.
 */
export async function expectShown(call: Client['call'], shown: string | null, { secondFactor }: Texts): Promise<void> {
  const draft = await findDraft(call)
  if (draft !== null && draft.expires_at !== shown)
    throw new FormRefused({ field: null, message: secondFactor.notices['draft-expired'] })
}

/** Returns what this session sets up an app with, or null if it has begun none, or too long ago. */
export async function findDraft(call: Client['call']): Promise<Draft | null> {
  try {
    return await call('GET /v1/auth/factors/draft')
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 404) throw error
    return null
  }
}
