import type { Context } from 'aws-lambda'
import type { Config } from '#shared/base/config.ts'
import { secretLogin } from '#shared/db/login.ts'
import { metered } from '#shared/base/metrics.ts'
import { invokeLambda } from '#shared/queue/invoke-lambda.ts'
import { openVault } from '#shared/vault/open-vault.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { isFactorCommand, isKeyCommand, type Outcome } from './commands.ts'
import { orRefused } from './database-failure.ts'
import type { Examined } from './examine.ts'
import { type Instruction, type Order, receive } from './instruction.ts'
import { worker } from './worker.ts'
import { look } from './look.ts'
import { operate, operateKeys } from './operate.ts'
import { operateFactors } from './second-factors.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(worker, { openVault, invoke: invokeLambda })

/** Operators invoke this with their AWS credentials. No route reaches it. */
export const handler = metered(async (event: unknown, context: Context): Promise<Outcome> => {
  const received = await receive(event, context)
  if (!('command' in received)) return received
  return orRefused(() => run(received, context))
})

async function run({ command, instruction }: Order, context: Context): Promise<Outcome> {
  const opened = await runtime.open()
  const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
  if (isFactorCommand(command)) return operateFactors(opened, command, { ...instruction, shouldStop })
  if (isKeyCommand(command)) {
    return operateKeys(opened, command, { ...instruction, vault: opened.vault, shouldStop })
  }
  if (command.command === 'sql') return look(opened, command, instruction)
  if (command.command === 'doctor') return examineDatabase(opened.config, instruction)
  if (command.command === 'verify-restore') {
    const { verifyRestore } = await import('./verify-restore.ts')
    return verifyRestore(examined(opened.config), command, instruction)
  }
  const refused = command.command === 'unsuppress' ? await allowMailTo(command.email) : null
  return refused ?? operate(opened, command, instruction)
}

/** Loads the doctor, which no other command needs. */
async function examineDatabase(config: Config, instruction: Instruction): Promise<Outcome> {
  const { examine } = await import('./examine.ts')
  return examine(examined(config), instruction)
}

const examined = ({ secretIds, database }: Config): Examined => ({
  login: secretLogin(secretIds.database, database.host || null),
  security: database,
  folder: database.migrationsFolder,
})

/** Loads the client of SES, which no other command needs. */
async function allowMailTo(email: string): Promise<Outcome | null> {
  const [{ unsuppress }, { ses }] = await Promise.all([import('./unsuppress.ts'), import('./ses.ts')])
  return unsuppress(ses, email)
}
