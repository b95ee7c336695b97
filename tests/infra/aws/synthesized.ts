import { readFileSync } from 'node:fs'
import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import type { Addresses } from '#infra/aws/addresses.ts'
import { Tenantry } from '#infra/aws/tenantry.ts'
import { jobs, routeGroups } from '#infra/route-groups.ts'
import { STAGES, type Stage } from '#infra/stages.ts'

const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'))

export interface Resource {
  readonly Type: string
  readonly Properties: any
  readonly DependsOn?: readonly string[]
  readonly DeletionPolicy?: string
  readonly Metadata?: Readonly<Record<string, string>>
}

/** The resources of a stage by their logical ids. Bundles are left out. */
export async function synthesized(
  stage: keyof typeof STAGES,
  change: { numbers?: Partial<Stage>; addresses?: Partial<Addresses> } = {},
): Promise<ReadonlyMap<string, Resource>> {
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } })
  const stack = new Tenantry(app, `tenantry-${stage}`, {
    stage,
    numbers: { ...STAGES[stage], ...change.numbers },
    addresses: { ...context.tenantry[stage], ...change.addresses },
    groups: await routeGroups(),
    jobs: await jobs(),
  })
  return new Map(Object.entries(Template.fromStack(stack).toJSON()['Resources']))
}

/** The resources of one type. */
export const ofType = (resources: ReadonlyMap<string, Resource>, type: string): [string, Resource][] =>
  [...resources].filter(([, { Type }]) => Type === type)

/** Where a resource stands among the constructs, without the stack and the last `Resource`. */
export const pathOf = ({ Metadata }: Resource): string =>
  (Metadata?.['aws:cdk:path'] ?? '').split('/').slice(1).join('/').replace(/\/Resource$/, '')
