import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v from 'valibot'
import { afterAll, beforeAll, vi } from 'vitest'
import { Command, isFactorCommand, isKeyCommand } from '#functions/workers/operate/commands.ts'
import { examine } from '#functions/workers/operate/examine.ts'
import { type Instruction, receive } from '#functions/workers/operate/instruction.ts'
import { worker as operating } from '#functions/workers/operate/worker.ts'
import { verifyRestore } from '#functions/workers/operate/verify-restore.ts'
import { look } from '#functions/workers/operate/look.ts'
import { operate, operateKeys } from '#functions/workers/operate/operate.ts'
import { operateFactors } from '#functions/workers/operate/second-factors.ts'
import { liveArn, startLambda } from '#infra/local/aws/lambda.ts'
import { loginOf, MIGRATIONS } from '#infra/local/postgres/database.ts'
import { startSts } from '#infra/local/aws/sts.ts'
import { operate as commandLine } from '#infra/tools/operate.ts'
import { connectTo } from '#tests/support/access.ts'
import { type Finished, runCommandLine } from '#tests/support/command-line.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'
import { MAIL_KEY, PEPPER } from '#tests/support/service.ts'
import { FACTOR_KEY } from '#tests/support/settings.ts'
import { useService } from '#tests/support/test.ts'

export const REASON = 'Asked for by the owner, ticket 4711'

/** The ARN of no key. */
export const ARN = 'arn:aws:kms:us-east-1:000000000000:key/0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'

/** Starts the service for the tests of a file, and returns it with the ways to run an operator's command on it. */
export function useOperator() {
  const service = useService()
  let perform: (given: Command, instruction: Instruction) => Promise<unknown>
  const closers: (() => Promise<unknown>)[] = []
  /** A test may rotate it. */
  const factorKeys: { factorKey: string; factorKeyPrevious?: string } = { factorKey: FACTOR_KEY }

  const invoke = async (event: unknown): Promise<unknown> => {
    const context = { ...lambdaContext, functionName: 'operate', invokedFunctionArn: liveArn('operate') }
    const received = await receive(event, context)
    return 'command' in received ? perform(received.command, received.instruction) : received
  }

  beforeAll(async () => {
    const invocations = new Map((['deliver-mail', 'publish-events'] as const).map((job) => [job, async () => {}]))
    const database = connectTo(service.database.operatorUrl, { connections: 2, prepare: true }, invocations)
    const { config, vault } = service.runtime
    const worker = { config, database, pepper: PEPPER, mailKey: MAIL_KEY, vault }
    const login = async () => loginOf(service.database.operatorUrl)
    const security = { tls: 'disable', caFile: '' } as const
    perform = (given, instruction) => {
      if (given.command === 'sql') return look(worker, given, instruction)
      if (given.command === 'doctor') return examine({ login, security, folder: MIGRATIONS }, instruction)
      if (isFactorCommand(given))
        return operateFactors({ ...worker, ...factorKeys }, given, { ...instruction, shouldStop: () => false })
      if (given.command === 'verify-restore')
        return verifyRestore({ login, security, folder: MIGRATIONS }, given, instruction)
      return isKeyCommand(given)
        ? operateKeys(worker, given, { ...instruction, vault, shouldStop: () => false })
        : operate(worker, given, instruction)
    }
    const sts = await startSts()
    vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url)
    const lambda = await startLambda()
    lambda.serve('operate', { worker: operating, invoke })
    const stateDir = await mkdtemp(join(tmpdir(), 'tenantry-operate-'))
    await writeFile(join(stateDir, 'stack.json'), JSON.stringify({ lambda_url: lambda.url }))
    vi.stubEnv('STATE_DIR', stateDir)
    closers.push(
      () => lambda.close(),
      () => sts.close(),
      () => database.close(),
      () => rm(stateDir, { recursive: true }),
    )
  })
  afterAll(async () => {
    for (const close of closers) await close()
  })

  /** Runs the command line. */
  const cli = (...words: string[]): Promise<Finished> => runCommandLine((output) => commandLine(words, output))

  return {
    service,
    cli,
    /** Invokes the function with an event. */
    invoke,
    /** Performs a command without the checks of its caller. */
    run: (given: object): Promise<any> => perform(v.parse(Command, given), INSTRUCTION),
    factorKeys,
    /** Runs the command line with a reason, and pipes a text into it. */
    piped: (input: string, ...words: string[]): Promise<Finished> =>
      runCommandLine((output) => commandLine([...words, '--reason', REASON], output, async () => input)),
    /** Runs the command line with a reason. */
    command: (...words: string[]) => cli(...words, '--reason', REASON),
    /** Returns the actions of the audit entries of a tenant. */
    auditOf: async (slug: string): Promise<string[]> => {
      const entries = await service.database.admin<{ action: string }[]>`
        select a.action from app.audit_log a join app.tenants t on t.id = a.tenant_id where t.slug = ${slug} order by a.occurred_at`
      return entries.map(({ action }) => action)
    },
  }
}
