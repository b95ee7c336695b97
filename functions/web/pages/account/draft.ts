import { type Client, ProblemError, type ReplyOf } from '#shared/client/client.ts'
import { type Html, html } from '#web/http/html.ts'

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

/** Recovery codes, to be printed or kept. */
export const codeList = (codes: readonly string[]): Html =>
  html`<ol class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>`
