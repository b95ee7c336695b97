import { ProblemError } from '#shared/client/client.ts'

/** Ends something, and returns what the API says of it. What has ended already, as after a second press, is done: then it is null. */
export async function unlessGone<Ended>(ending: Promise<Ended>): Promise<Ended | null> {
  try {
    return await ending
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 404) throw error
    return null
  }
}
