import { ProblemError } from '#shared/client/client.ts'

/** Ends something. What has ended already, as after a second press, is done. */
export async function unlessGone(ending: Promise<unknown>): Promise<void> {
  try {
    await ending
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 404) throw error
  }
}
