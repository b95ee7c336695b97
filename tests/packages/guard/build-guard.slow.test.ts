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
  const [protect, plain, stepUp, byKey, middyUse, hono, fetched, other, double, drizzle, kysely, cdk, authorizer] = [
    'guard.protect(',
    'guard.authorize(',
    'POST /refunds',
    "principals: ['session', 'key'] },",
    'guard.middleware(',
    'requirePermission(',
    'protectFetch(',
    'guard.authorizeRequest(',
    'testGuard(',
    'drizzle(',
    'kysely(',
    'fromStage(',
    'new TenantryAuthorizer(',
  ].map((part) => blocks.find((code) => code.includes(part)) ?? 'missing')
  const aGuard = `import { createGuard } from '@tenantry/guard'
      const guard = createGuard()`
  const files = {
    'service.ts': `declare const listOrders: (tenantId: string) => Promise<object>
      ${protect}`,
    'plain.ts': `import { createGuard, type GatewayEvent, Refusal } from '@tenantry/guard'
      const guard = createGuard()
      export async function handler(event: GatewayEvent) {
        ${plain}
      }`,
    'step-up.ts': `${aGuard.replace('createGuard }', 'createGuard, type Principal }')}
      declare const refund: (principal: Principal) => Promise<object>
      ${stepUp}`,
    'keys.ts': `${aGuard}
      ${byKey}`,
    'middy.ts': `import middy from '@middy/core'
      ${aGuard}
      ${middyUse}`,
    'hono.ts': `import { Hono } from 'hono'
      ${aGuard}
      const app = new Hono()
      ${hono}`,
    'fetch.ts': `${aGuard}
      ${fetched}`,
    'other.ts': `${aGuard}
      export async function ask(request: { headers: { authorization?: string }; method: string }) {
        ${other}
        return principal
      }`,
    'double.ts': `${double}
      export { guard }`,
    'drizzle.ts': drizzle,
    'kysely.ts': kysely,
    // CommonJS, as most CDK apps are. One of each entry.
    'common.cts': `import { createGuard, holds, Refusal, TenantRefused, type Principal, type Permission } from '@tenantry/guard'
      import { protectFetch } from '@tenantry/guard/fetch'
      import { requirePermission } from '@tenantry/guard/hono'
      import { testGuard, testPrincipal } from '@tenantry/guard/testing'
      import { readInTenant } from '@tenantry/guard/pg'
      import { writeInTenant } from '@tenantry/guard/postgres'
      import { Tenantry } from '@tenantry/guard/cdk'
      const permission: Permission = 'deal.read'
      // @ts-expect-error a permission that does not exist
      const typo: Permission = 'deal.wirte'
      export const may = (principal: Principal): boolean => holds(principal, permission)
      export const all = [createGuard, Refusal, TenantRefused, protectFetch, requirePermission, testGuard, testPrincipal,
        readInTenant, writeInTenant, Tenantry, typo]`,
    'app.ts': `import { Stack } from 'aws-cdk-lib'
      import { type Integration, RestApi } from 'aws-cdk-lib/aws-apigateway'
      import { Rule } from 'aws-cdk-lib/aws-events'
      import type { Function } from 'aws-cdk-lib/aws-lambda'
      ${cdk?.replace(/const tenantry/, 'declare const orders: Function\ndeclare const integration: Integration\nexport class Orders extends Stack {\n  make(restApi: RestApi) {\n$&')}
      ${authorizer}
      }}`,
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text ?? '')
  for (const module of ['nodenext', 'node16']) {
    const flags = ['--ignoreConfig', '--strict', '--noEmit', '--module', module, '--skipLibCheck', '--types', 'node']
    const compiled = await run('node_modules/.bin/tsc', [
      ...flags,
      ...Object.keys(files).map((name) => join(folder, name)),
    ]).catch(({ stdout }: { stdout: string }) => ({ stdout }))
    expect([module, compiled.stdout]).toEqual([module, ''])
  }
})

it('builds a package that `require` loads, with the same exports as `import`', async () => {
  const folder = await mkdtemp(join('node_modules', '.guard-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const installed = join(folder, 'node_modules/@tenantry/guard')
  await run(process.execPath, ['infra/tools/build-guard.ts', '--out', join(process.cwd(), installed)])
  const { exports }: { exports: Record<string, unknown> } = JSON.parse(
    await readFile(join(installed, 'package.json'), 'utf8'),
  )
  const entries = Object.keys(exports).map((path) => `@tenantry/guard${path.slice(1)}`)
  await writeFile(
    join(folder, 'both.mjs'),
    `import { createRequire } from 'node:module'
     const require = createRequire(import.meta.url)
     const names = (loaded) => Object.keys(loaded).filter((name) => name !== 'default' && name !== 'module.exports').toSorted()
     for (const entry of ${JSON.stringify(entries)})
       console.log(JSON.stringify([names(require(entry)), names(await import(entry))]))`,
  )
  const { stdout } = await run(process.execPath, [join(folder, 'both.mjs')])
  const pairs: [string[], string[]][] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(pairs).toHaveLength(entries.length)
  for (const [required, imported] of pairs) {
    expect(required).toEqual(imported)
    expect(required.length).toBeGreaterThan(0)
  }
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
