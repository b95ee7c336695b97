import { describeError, log } from '#shared/base/log.ts'
import { isBusy, isUnavailable } from '#shared/db/failure.ts'
import type { Outcome } from './commands.ts'

/** Runs a command. When the database is at fault it is refused with what the operator can know and do, and the error is logged. */
export async function orRefused(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (!isUnavailable(error)) throw error
    log.error('the database failed during a command', { error: describeError(error) })
    if (isBusy(error))
      return { refused: 'The database was busy, and the last step changed nothing. Run the command again' }
    return {
      refused:
        'The database did not respond. Look at infra/runbook/database.md first. Before you run the command again, look in ' +
        'the audit log whether it was done',
    }
  }
}
