import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const run = promisify(execFile)

it('builds a package that a strict TypeScript project compiles against, with the code blocks of its README', async () => {
  // Below node_modules, where the peers are found.
  const folder = await mkdtemp(join('node_modules', '.guard-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const installed = join(folder, 'node_modules/@tenantry/guard')
  await run(process.execPath, ['infra/tools/build-guard.ts', '--out', join(process.cwd(), installed)])
  const readme = await readFile(join(installed, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)
  const [protect, plain, cdk, authorizer] = [
    'guard.protect(',
    'guard.authorize(',
    'fromStage(',
    'new TenantryAuthorizer(',
  ].map((part) => blocks.find((code) => code.includes(part)) ?? 'missing')
  const files = {
    'service.ts': `declare const listOrders: (tenantId: string) => Promise<object>
      ${protect}`,
    'plain.ts': `import { createGuard, type GatewayEvent, Refusal } from '@tenantry/guard'
      const guard = createGuard()
      export async function handler(event: GatewayEvent) {
        ${plain}
      }`,
    'app.ts': `import { Stack } from 'aws-cdk-lib'
      import { type Integration, RestApi } from 'aws-cdk-lib/aws-apigateway'
      import { Rule } from 'aws-cdk-lib/aws-events'
      import type { Function } from 'aws-cdk-lib/aws-lambda'
      ${cdk?.replace(/const tenantry/, 'declare const orders: Function\ndeclare const integration: Integration\nexport class Orders extends Stack {\n  make(restApi: RestApi) {\n$&')}
      ${authorizer}
      }}`,
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const flags = ['--ignoreConfig', '--strict', '--noEmit', '--module', 'nodenext', '--skipLibCheck', '--types', 'node']
  const compiled = await run('node_modules/.bin/tsc', [
    ...flags,
    ...Object.keys(files).map((name) => join(folder, name)),
  ]).catch(({ stdout }: { stdout: string }) => ({ stdout }))
  expect(compiled.stdout).toBe('')
})

it('builds a package that works alone with credentials in the environment, and asks for the SDK without them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'guard-alone-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await run(process.execPath, ['infra/tools/build-guard.ts', '--out', folder])
  const asking = `const { createGuard } = await import('./guard.js')
    const event = { httpMethod: 'GET', resource: '/', headers: { authorization: 'Bearer a' }, requestContext: { requestId: '' } }
    await createGuard({ functionName: 'f:live' }).authorize(event, null).catch(({ message }) => console.log(message))`
  const endpoint = { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1' }
  const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }
  const ask = async (env: Record<string, string>) => {
    const options = { cwd: folder, env: { ...endpoint, ...env } }
    return (await run(process.execPath, ['--input-type=module', '--eval', asking], options)).stdout
  }
  expect(await ask(credentials)).toBe('the invocation failed: ECONNREFUSED\n')
  expect(await ask({})).toContain('@aws-sdk/client-lambda: install it')
})
