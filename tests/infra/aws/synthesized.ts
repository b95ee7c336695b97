import { readFileSync, statSync } from 'node:fs'
import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import * as v from 'valibot'
import { Addresses } from '#infra/aws/addresses.ts'
import { Tenantry } from '#infra/aws/tenantry.ts'
import { type DeployedGroup, frontEnd, routeGroups, workers } from '#infra/route-groups.ts'
import { STAGES, type Stage } from '#infra/stages.ts'
import type { Need } from '#shared/base/needs.ts'

const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'))

interface Resource {
  readonly Type: string
  readonly Properties: any
  readonly DependsOn?: readonly string[]
  readonly DeletionPolicy?: string
  readonly UpdatePolicy?: any
  readonly UpdateReplacePolicy?: string
}

/** A stage's template, by its resources' logical ids. */
export interface Synthesized {
  readonly resources: ReadonlyMap<string, Resource>
  readonly terminationProtection: boolean
  /** The size of its file, as the CDK writes it. */
  readonly bytes: number
  /** The value of each output. */
  readonly outputs: ReadonlyMap<string, unknown>
  ofType(type: string): Resource[]
  /** The one resource of a type whose id begins so. */
  one(type: string, prefix?: string): Resource
  /** The one resource that a property refers to. */
  referred(property: unknown): Resource
  /** What a property names: text, with a resource's id without its hash, and without the account's own parts. */
  named(property: unknown): string
}

interface Change {
  readonly database?: Partial<Stage['database']>
  readonly addresses?: Partial<v.InferInput<typeof Addresses>>
  /** More than the workers name by themselves. */
  readonly needs?: Readonly<Record<string, readonly Need[]>>
  readonly groups?: readonly DeployedGroup[]
}

/** The commit of every stage here. */
export const RELEASE = '0123456789ab'

const known = new Map<string, Promise<Synthesized>>()

/** Synthesizes a stage without bundling its functions, once in each worker. */
export function synthesized(stage: keyof typeof STAGES, change: Change = {}): Promise<Synthesized> {
  const key = JSON.stringify([stage, change])
  const made = known.get(key) ?? synthesize(stage, change)
  known.set(key, made)
  return made
}

async function synthesize(stage: keyof typeof STAGES, change: Change): Promise<Synthesized> {
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } })
  const config = STAGES[stage]
  const stack = new Tenantry(app, `tenantry-${stage}`, {
    stage,
    release: RELEASE,
    config: { ...config, database: { ...config.database, ...change.database } },
    addresses: v.parse(Addresses, { ...context.tenantry[stage], ...change.addresses }),
    groups: change.groups ?? (await routeGroups()),
    frontEnd: await frontEnd(),
    workers: (await workers()).map(({ worker, handlerFile }) => ({
      handlerFile,
      worker: { ...worker, needs: [...new Set([...worker.needs, ...(change.needs?.[worker.name] ?? [])])] },
    })),
  })
  // Throws when resources depend on each other in a circle.
  const template = Template.fromStack(stack).toJSON()
  const { templateFullPath } = app.synth().getStackArtifact(stack.artifactId)
  const resources = new Map<string, Resource>(Object.entries(template['Resources']))
  const outputs = Object.entries<{ Value: unknown }>(template['Outputs'])
  const idOf = (property: any): string | undefined => property?.Ref ?? property?.['Fn::GetAtt']?.[0]

  const named = (property: any): string => {
    if (typeof property === 'string') return property
    if (property['Fn::Join'] !== undefined) return property['Fn::Join'][1].map(named).join('')
    const id = idOf(property) ?? ''
    if (id.startsWith('AWS::')) return ''
    if (!resources.has(id)) throw new Error(`cannot name ${JSON.stringify(property)}`)
    return id.replace(/[0-9A-F]{8}$/, '')
  }

  return {
    resources,
    terminationProtection: stack.terminationProtection,
    bytes: statSync(templateFullPath).size,
    outputs: new Map(outputs.map(([name, { Value }]) => [name, Value])),
    named,
    ofType: (type) => [...resources.values()].filter(({ Type }) => Type === type),
    one: (type, prefix = '') => {
      const [found, second] = [...resources].filter(([id, { Type }]) => Type === type && id.startsWith(prefix))
      if (found === undefined || second !== undefined) throw new Error(`not one ${type} ${prefix}`)
      return found[1]
    },
    referred: (property) => {
      const found = resources.get(idOf(property) ?? '')
      if (found === undefined) throw new Error(`refers to no resource: ${JSON.stringify(property)}`)
      return found
    },
  }
}

export const listed = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value])
