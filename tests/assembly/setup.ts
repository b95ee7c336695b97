import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import * as v from 'valibot'
import type { TestProject } from 'vitest/node'
import { Addresses } from '#infra/aws/addresses.ts'
import { urlFor } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { seed } from '#infra/local/seed.ts'
import { TEMPLATE } from '#tests/support/setup/template.ts'
import { deploy, type Deployed, encrypt } from './deploy.ts'
import { passwords, type SecretValues } from './stage.ts'
import { ofType, readAssembly } from './template.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The deployed assembly. Undefined in a run of the sources. */
    assembly?: {
      readonly folder: string
      readonly stage: string
      readonly secrets: SecretValues
      readonly passwords: Readonly<Record<string, string>>
      readonly caFile: string
      readonly webBaseUrl: string
      readonly problemBaseUrl: string
      readonly inits: Deployed['inits']
    }
  }
}

const ROUNDS = 10

/**
 * Synthesizes a stage (ASSEMBLY_STAGE, default dev) or copies the assembly in ASSEMBLY_FOLDER. Deploys it to its own cluster.
 * The seeded database becomes the template of each test file's database.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = performance.now()
  const report = (what: string) => console.log(`${((performance.now() - started) / 1000).toFixed(1)} s  ${what}`)
  // Outside the checkout, so that a bundle cannot import from node_modules.
  const home = await mkdtemp(join(tmpdir(), 'tenantry-assembly-'))
  await chmod(home, 0o711)
  const folder = join(home, 'cdk.out')
  const stage = process.env['ASSEMBLY_STAGE'] ?? 'dev'
  const given = process.env['ASSEMBLY_FOLDER']
  if (given === undefined) await synthesize(stage, folder)
  else await cp(given, folder, { recursive: true })
  report(`synthesized the stage ${stage}`)

  const caFile = join(home, 'ca.crt')
  const server = await startPostgres({ dataDir: join(home, 'postgres'), durable: false })
  const close = async () => {
    await server.stop('immediate')
    await rm(home, { recursive: true, force: true })
  }
  try {
    await encrypt(server, caFile)
    const assembly = readAssembly(folder, stage)
    const { webBaseUrl, problemBaseUrl = `${webBaseUrl}/problems` } = addresses(stage)
    const { adminUrl } = server
    const { secrets, inits } = await deploy(assembly, { adminUrl, caFile, problemBaseUrl, rounds: ROUNDS })
    report('deployed the stage')
    await makeTemplate(adminUrl, ofType(assembly, 'AWS::RDS::DBCluster')[0]?.[1].DatabaseName)
    project.provide('adminUrl', adminUrl)
    project.provide('assembly', {
      folder,
      stage,
      secrets,
      passwords: passwords(secrets),
      caFile,
      webBaseUrl,
      problemBaseUrl,
      inits,
    })
  } catch (error) {
    await close()
    throw error
  }
  return close
}

/** Returns the addresses of a stage from cdk.json. */
const addresses = (stage: string): Addresses => {
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'))
  return v.parse(Addresses, context.tenantry[stage])
}

async function synthesize(stage: string, folder: string): Promise<void> {
  const words = [
    'synth',
    `tenantry-${stage}`,
    '--exclusively',
    '--quiet',
    '--no-notices',
    '--output',
    folder,
    '--context',
    'placeholders=allowed',
  ]
  await promisify(execFile)('npx', ['cdk', ...words])
}

async function makeTemplate(adminUrl: string, deployed: string): Promise<void> {
  const sql = postgres(urlFor(adminUrl, { database: deployed }), {
    max: 1,
    onnotice: () => {},
    connection: { search_path: 'app, public' },
  })
  await seed(sql, { memoryKib: 64, iterations: 1 })
  await sql.end()
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} })
  await admin`alter database ${admin(deployed)} rename to ${admin(TEMPLATE)}`
  await admin.end()
}
