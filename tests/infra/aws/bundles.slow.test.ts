import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { App } from 'aws-cdk-lib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as v from 'valibot'
import { Addresses } from '#infra/aws/addresses.ts'
import { Tenantry } from '#infra/aws/tenantry.ts'
import { frontEnd, routeGroups, workers } from '#infra/route-groups.ts'
import { STAGES } from '#infra/stages.ts'

interface Bundle {
  readonly name: string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
}

let outdir: string
let bundles: Bundle[]
beforeAll(async () => {
  // Outside the checkout, so that a bundle cannot find a missing package in node_modules.
  outdir = await mkdtemp(join(tmpdir(), 'tenantry-bundles-'))
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'))
  const app = new App({ context, outdir })
  const stack = new Tenantry(app, 'tenantry-dev', {
    stage: 'dev',
    release: 'unknown',
    config: STAGES.dev,
    addresses: v.parse(Addresses, context.tenantry.dev),
    groups: await routeGroups(),
    workers: await workers(),
    frontEnd: await frontEnd(),
  })
  const { template } = app.synth().getStackByName(stack.stackName)
  bundles = Object.values<any>(template.Resources)
    .filter(({ Type, Properties }) => Type === 'AWS::Lambda::Function' && Properties.FunctionName !== undefined)
    .map(({ Properties }) => ({
      name: Properties.FunctionName,
      folder: join(outdir, `asset.${Properties.Code.S3Key.replace('.zip', '')}`),
      // Values that only a deployment knows are a placeholder.
      env: Object.fromEntries(
        Object.entries(Properties.Environment.Variables).map(([key, value]) => [
          key,
          typeof value === 'string' ? value : 'https://x.test',
        ]),
      ),
    }))
}, 600_000)
afterAll(async () => {
  await rm(outdir, { recursive: true, force: true })
})

const started = (folder: string): string[] => [
  '--input-type=module',
  '-e',
  `const { handler } = await import(${JSON.stringify(join(folder, 'index.js'))}); console.log(typeof handler)`,
]

const WITH_MIGRATIONS = /-(migrate|operate)$/

describe('a bundle', () => {
  it('starts on its own, with the environment of its function', async () => {
    expect(bundles.length).toBeGreaterThan(5)
    for (const { name, folder, env } of bundles) {
      const { stdout } = await promisify(execFile)(process.execPath, started(folder), {
        env: { ...env, AWS_REGION: 'us-east-1' },
        cwd: outdir,
      })
      // Before it, a group may log that it started.
      expect(stdout.trim().split('\n').at(-1), name).toBe('function')
    }
  })

  it('has no source map, but its assembly has those that name the places in the sources of a stack', async () => {
    const { name, folder } = bundles.find((each) => each.name.endsWith('-auth')) ?? expect.fail()
    expect((await readdir(folder)).filter((file) => !/^\w+\.js$/.test(file))).toEqual([])
    const { stderr } = spawnSync(process.execPath, started(folder), { env: {}, encoding: 'utf8' })
    const input = (stderr.match(/^ +at .*$/gm) ?? []).join('\n').replaceAll(folder, '/var/task')
    expect(input).toMatch(/\/var\/task\/index\.js:\d+:\d+/)
    const { stdout } = spawnSync(process.execPath, ['infra/tools/map-stack.ts', name, '--assembly', outdir], {
      input,
      encoding: 'utf8',
    })
    expect(stdout).toMatch(/^ +at \S+ \(shared\/lambda\/runtime\.ts:\d+:\d+\)/)
    expect(stdout).toMatch(/\(functions\/api\/auth\/handler\.ts:\d+:\d+\)/)
    expect(stdout).not.toContain('/var/task')
  })

  it('contains the migrations only if it runs them, or compares a database with them', async () => {
    for (const { name, folder, env } of bundles) {
      const files = await readdir(join(folder, 'migrations')).catch(() => [])
      expect(new Set(files), name).toEqual(new Set(WITH_MIGRATIONS.test(name) ? await readdir('migrations') : []))
      expect(env['MIGRATIONS_FOLDER']).toBe(WITH_MIGRATIONS.test(name) ? '/var/task/migrations' : undefined)
    }
  })
})
