// Runs the service in its own process, for tests that stop its database or its cache. startServerProcess starts it. Sends
// its URL as its only message.
import { startGateway } from '#infra/local/gateway/gateway.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/base/config.ts'
import { GROUP_PARTS, lambda } from '#shared/http/lambda.ts'
import { commonRuntimes } from './access.ts'
import { lambdaContext } from './lambda-context.ts'
import { writes } from './write-design.ts'

const config = parseConfig({ DATABASE_TLS: 'disable', ...process.env })
const access = JSON.parse(process.env['SERVICE_ACCESS'] ?? '')
const runtimeOf = commonRuntimes(config, access, { ...GROUP_PARTS, invoke: async () => {} })
const gateway = await startGateway({
  port: 0,
  problemBaseUrl: config.problemBaseUrl,
  integrations: [...(await routeGroups()).map(({ group }) => group), writes].map((group) => {
    const runtime = runtimeOf(group)
    const handle = lambda(group, { config, open: async () => runtime })
    return { group, invoke: (event) => handle(event, lambdaContext) }
  }),
})
process.send?.({ url: gateway.url })
process.on('disconnect', () => process.exit(0))
