import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { App } from 'aws-cdk-lib'
import { type Stateful, stackPolicy, statefulOf } from '#infra/aws/stateful.ts'
import { addStacks } from '#infra/stacks.ts'
import { writeGenerated } from './generated.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COMMAND = 'npm run baseline, and read what changed: CloudFormation replaces these resources'

/** The files, by their paths in the project. */
export const BASELINE = 'infra/baseline.json'
export const STACK_POLICY = 'infra/stack-policy.json'

/** Returns the stateful resources of each stage, as the sources and cdk.json have them. Bundles nothing. */
export async function stagesNow(): Promise<Readonly<Record<string, Readonly<Record<string, Stateful>>>>> {
  const { context } = JSON.parse(await readFile(`${ROOT}cdk.json`, 'utf8'))
  const outdir = await mkdtemp(join(tmpdir(), 'tenantry-baseline-'))
  try {
    const app = new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [], placeholders: 'allowed' } })
    const stacks = await addStacks(app, 'unknown')
    const assembly = app.synth()
    return Object.fromEntries(
      stacks.map(({ stackName }) => [stackName, statefulOf(assembly.getStackByName(stackName).template.Resources)]),
    )
  } finally {
    await rm(outdir, { recursive: true })
  }
}

const text = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

if (import.meta.main) {
  const stages = await stagesNow()
  const ids = Object.values(stages).flatMap((stage) => Object.keys(stage))
  await writeGenerated(ROOT + BASELINE, text(stages), COMMAND)
  await writeGenerated(ROOT + STACK_POLICY, text(stackPolicy(ids)), 'npm run baseline')
}
