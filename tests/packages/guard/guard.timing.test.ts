import { createGuard, Refusal } from '@tenantry/guard'
import { expect, it, onTestFinished } from 'vitest'
import { authorizer } from '#functions/workers/authorize/authorizer.ts'
import { worker } from '#functions/workers/authorize/worker.ts'
import { startLambda } from '#infra/local/aws/lambda.ts'
import { quantile } from '#tests/bench/statistics.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { stubLambdaEnvironment } from '#tests/support/lambda-environment.ts'
import { useService } from '#tests/support/test.ts'

const ROUNDS = 300

const service = useService()

/** Starts the door as `npm start` does. Returns a guard of the function of this name, with all defaults. */
async function guardOf(name: string) {
  const local = await startLambda()
  const { runtime } = service
  const authorize = authorizer({ config: runtime.config, open: async () => runtime })
  local.serve('authorize', { worker, invoke: authorize })
  local.serve('hanging', { worker, invoke: () => new Promise(() => {}) })
  onTestFinished(() => local.close())
  stubLambdaEnvironment(local.url)
  return createGuard({ functionName: `${name}:live` })
}

const timed = async (act: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await act()
  return performance.now() - startedAt
}

it('decides in at most 1.3 times the time in which the service reads a session', async () => {
  const { sales } = await service.newTenant('sales')
  const headers = { authorization: `Bearer ${sales.token}` }
  const guard = await guardOf('authorize')
  const event = gatewayEvent({ route: 'GET /orders', headers })
  const decide = () => guard.authorize(event, 'deal.read')
  const read = async () => {
    const response = await fetch(`${service.gateway.url}/v1/auth/session`, { headers })
    expect([response.status, Object.keys(Object(await response.json()))]).toEqual([
      200,
      expect.arrayContaining(['tenant']),
    ])
  }
  for (let round = 0; round < 50; round += 1) await Promise.all([decide(), read()])
  const times: { decided: number; read: number }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const [first, second] = round % 2 === 0 ? [decide, read] : [read, decide]
    const [one, other] = [await timed(first), await timed(second)]
    times.push(round % 2 === 0 ? { decided: one, read: other } : { decided: other, read: one })
  }
  // The fastest tenth is what the work itself takes, also while other programs run.
  const decided = quantile(
    times.map((each) => each.decided),
    0.1,
  )
  const session = quantile(
    times.map((each) => each.read),
    0.1,
  )
  const ratio = decided / session
  console.log(`guard.authorize: ${decided.toFixed(2)} ms, ${ratio.toFixed(2)} × a session read`)
  expect(ratio).toBeLessThan(1.3)
})

it('responds with 503 within two seconds while authorize hangs', async () => {
  const guard = await guardOf('hanging')
  const event = gatewayEvent({ route: 'GET /orders', headers: { authorization: `Bearer ${'A'.repeat(43)}` } })
  const asking = async () => {
    const refusal: unknown = await guard.authorize(event, null).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(Refusal)
    expect(refusal).toMatchObject({ status: 503 })
  }
  expect(await timed(asking)).toBeLessThan(2100)
})
