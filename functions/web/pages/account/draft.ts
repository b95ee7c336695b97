import { type Client, ProblemError, type ReplyOf } from '#shared/client/client.ts'

export type Draft = ReplyOf<'GET /v1/auth/factors/draft'>

/** Returns what this session sets up an app with, or null if it has begun none, or too long ago. */
export async function findDraft(call: Client['call']): Promise<Draft | null> {
  try {
    return await call('GET /v1/auth/factors/draft')
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 404) throw error
    return null
  }
}
