import type { Writable } from 'node:stream'
import { INTEGRATION_TIMEOUT_MS } from '#infra/gateway.ts'
import { type DeployedFrontEnd, routeGroups, workers } from '#infra/route-groups.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import type { Need } from '#shared/base/needs.ts'
import type { LocalLambda } from './aws/lambda.ts'
import type { Faults } from './faults.ts'
import type { Invoke } from './gateway/gateway.ts'
import { type Instances, startInstances } from './gateway/instances.ts'
import { secretsFor } from './secrets.ts'

const MAX_GROUP_INSTANCES = 16
const MAX_WORKER_INSTANCES = 2

/** A function, and the file that it runs. */
interface Deployable {
  readonly name: string
  readonly handlerFile: string
  readonly instances: Pick<Instances<never, unknown>, 'deploy' | 'heaps'>
}

/** Registers a part, which the stack closes when it stops. */
export type Opened = <Part extends { close(): Promise<void> }>(part: Part) => Part

/** Starts every worker and route group, and the front end. Returns the integrations of the gateway, and how to invoke the front end. */
export async function startFunctions(options: {
  env: Readonly<Record<string, string>>
  site: DeployedFrontEnd
  logs: Writable
  faults: Faults
  lambda: LocalLambda
  opened: Opened
}): Promise<{
  integrations: { group: RouteGroup; invoke: Invoke }[]
  invokeWeb: Invoke
  deployables: readonly Deployable[]
}> {
  const { env, site, logs, faults, lambda, opened } = options
  const deployables: Deployable[] = []
  const killAfterMs = () => (faults.draw('instance') === 'kill' ? Math.random() * faults.current('instance').ms : null)
  const start = async <Event, Result>(
    { name, needs }: { name: string; needs: readonly Need[] },
    handlerFile: string,
    most: number,
  ) => {
    const own = { functionName: name, handlerFile, env: { ...env, ...secretsFor(needs) } }
    const instances = opened(await startInstances<Event, Result>({ ...own, most, logs, killAfterMs }))
    deployables.push({ name, handlerFile, instances })
    return instances
  }
  const startWorkers = (await workers()).map(async ({ worker, handlerFile }) => {
    const { invoke } = await start<unknown, unknown>(worker, handlerFile, MAX_WORKER_INSTANCES)
    lambda.serve(worker.name, { worker, invoke })
  })
  const startGroups = (await routeGroups()).map(async ({ group, handlerFile }) => {
    const most = MAX_GROUP_INSTANCES
    const { invoke } = await start<unknown, ProxyResult>(group, handlerFile, most)
    lambda.serve(group.name, { worker: { timeoutSeconds: INTEGRATION_TIMEOUT_MS / 1000 }, invoke })
    return { group, invoke }
  })
  const startSite = start<unknown, ProxyResult>(site, site.handlerFile, MAX_GROUP_INSTANCES)
  const [integrations, { invoke: invokeWeb }] = await Promise.all([
    Promise.all(startGroups),
    startSite,
    Promise.all(startWorkers),
  ])
  return { integrations, invokeWeb, deployables }
}
