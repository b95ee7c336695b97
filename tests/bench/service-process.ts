import { startGateway } from '#infra/local/gateway/gateway.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/base/config.ts'
import { GROUP_PARTS, lambda } from '#shared/http/lambda.ts'
import { commonRuntimes, type FixedAccess } from '#tests/support/access.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { givenOptions, serveAt } from './processes.ts'

/** The options of a process of the service. */
export interface ServiceOptions {
  readonly env: Readonly<Record<string, string>>
  readonly access: FixedAccess
}

// The service with its handlers in this process: concurrent requests share one thread, unlike on Lambda.
const { env, access } = givenOptions() as ServiceOptions
const config = parseConfig(env)
const runtimeOf = commonRuntimes(config, access, GROUP_PARTS)
const gateway = await startGateway({
  port: 0,
  problemBaseUrl: config.problemBaseUrl,
  integrations: (await routeGroups()).map(({ group }) => {
    const runtime = runtimeOf(group)
    const handle = lambda(group, { config, open: async () => runtime })
    return { group, invoke: (event) => handle(event, lambdaContext) }
  }),
})
serveAt(gateway.url)
