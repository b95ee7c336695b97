import { DeleteSuppressedDestinationCommand, NotFoundException, type SESv2Client } from '@aws-sdk/client-sesv2'
import { describeError, log } from '#shared/base/log.ts'
import type { Outcome } from './commands.ts'

const TIMEOUT_MS = 5000

/**
 * Removes an address from the list of addresses that SES sends nothing to. Returns null, also for an address that is not on the
 * list. Returns a refusal when SES fails.
 */
export async function unsuppress(ses: SESv2Client, email: string): Promise<Outcome | null> {
  try {
    const remove = new DeleteSuppressedDestinationCommand({ EmailAddress: email })
    await ses.send(remove, { abortSignal: AbortSignal.timeout(TIMEOUT_MS) })
    return null
  } catch (error) {
    if (error instanceof NotFoundException) return null
    log.error('could not remove an address from the suppression list', { error: describeError(error) })
    return { refused: 'SES failed or refused. Nothing was changed. Run the command again' }
  }
}
