import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { gatewayResponse } from '#infra/gateway.ts'
import { serveApi } from '#infra/local/gateway/gateway.ts'
import { startInstances } from '#infra/local/gateway/instances.ts'
import { tempFolder } from '#tests/infra/local/temp-folder.ts'

const PROBLEMS = 'https://problems.test'

describe('an instance', () => {
  it.for([
    ['exits', 'process.exit(3)'],
    ['throws outside its handler', `setImmediate(() => { throw new Error('broken') }); await new Promise(() => {})`],
  ])('that %s returns a 502 problem and is replaced for the next request', async ([, crash]) => {
    const handlerFile = join(tempFolder(), 'handler.mjs')
    const handler = `async ({ path }) => { if (path === '/break') { ${crash} } return { statusCode: 200, body: '' } }`
    writeFileSync(handlerFile, `export const handler = ${handler}`)
    const instances = await startInstances<APIGatewayProxyEvent, ProxyResult>({
      handlerFile,
      functionName: 'broken',
      env: {},
      most: 2,
      logs: new Writable({ write: (_chunk, _encoding, done) => done() }),
    })
    const { invoke } = instances
    const gateway = await serveApi({
      port: 0,
      api: {
        methods: ['/break', '/work'].map((path) => ({ method: 'ANY', path, timeoutMs: 20_000, invoke })),
        failure: (name, requestId) => gatewayResponse(name, { requestId, problemBaseUrl: PROBLEMS }),
      },
    })
    onTestFinished(async () => {
      await gateway.close()
      await instances.close()
    })
    for (let round = 0; round < 3; round += 1) {
      const broken = await fetch(`${gateway.url}/break`)
      expect([broken.status, broken.headers.get('content-type')]).toEqual([502, 'application/problem+json'])
      expect(await broken.json()).toMatchObject({
        status: 502,
        type: `${PROBLEMS}/dependency-unavailable`,
        instance: `urn:uuid:${broken.headers.get('x-request-id')}`,
      })
      const next = await Promise.all(Array.from({ length: 5 }, () => fetch(`${gateway.url}/work`)))
      expect(next.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    }
  })

  const start = async (handler: string, killAfterMs?: () => number | null) => {
    const folder = tempFolder()
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), `export const handler = ${text}`)
      return join(folder, name)
    }
    const logs = new Writable({ write: (_chunk, _encoding, done) => done() })
    const options = { handlerFile: file('first.mjs', handler), functionName: 'any', env: {}, most: 1, logs }
    const instances = await startInstances<string, string>({ ...options, ...(killAfterMs && { killAfterMs }) })
    onTestFinished(() => instances.close())
    return { ...instances, file }
  }

  it('finishes its invocation in the release where it began, and the next one runs in the new release', async () => {
    const { file, ...instances } = await start(`async () => new Promise((done) => setTimeout(done, 300, 'first'))`)
    const running = instances.invoke('', 20_000)
    await instances.deploy(file('second.mjs', `async () => 'second'`))
    expect([await instances.invoke('', 20_000), await running]).toEqual(['second', 'first'])
    await expect(instances.deploy(file('broken.mjs', 'nothing'))).rejects.toThrow('does not start')
    expect(await instances.invoke('', 20_000)).toBe('second')
  })

  it('that is killed in an invocation fails it, and is replaced for the next', async () => {
    const kills = [0, null]
    const { invoke } = await start(
      `async () => new Promise((done) => setTimeout(done, 200, 'done'))`,
      () => kills.shift() ?? null,
    )
    await expect(invoke('', 20_000)).rejects.toThrow('the instance broke')
    expect(await invoke('', 20_000)).toBe('done')
  })
})
