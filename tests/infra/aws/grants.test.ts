import { beforeAll, describe, expect, it } from 'vitest'
import { ofType, pathOf, type Resource, synthesized } from './synthesized.ts'

let resources: ReadonlyMap<string, Resource>
beforeAll(async () => {
  resources = await synthesized('prod')
})

/** A resource of a policy: the construct that it names, or its text with the account's own parts left out. */
function named(resource: unknown): string {
  if (typeof resource === 'string') return resource
  const entries = Object.entries(resource as Record<string, any>)
  const [kind, value] = entries[0] ?? []
  if (kind === 'Ref' && resources.has(value)) return pathOf(resources.get(value) as Resource)
  if (kind === 'Fn::GetAtt' && resources.has(value[0])) return pathOf(resources.get(value[0]) as Resource)
  if (kind === 'Fn::Join')
    return value[1].map((part: any) => (part.Ref?.startsWith('AWS::') ? '' : named(part))).join('')
  throw new Error(`cannot name ${JSON.stringify(resource)}`)
}

const listed = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value])

/** What each of our functions may do, as `action resource`, besides what all of them may. */
function grants(): Record<string, string[]> {
  const policies = ofType(resources, 'AWS::IAM::Policy')
  return Object.fromEntries(
    ofType(resources, 'AWS::Lambda::Function')
      .filter(([, { Properties }]) => Properties.FunctionName !== undefined)
      .map(([, { Properties }]) => {
        const name: string = Properties.FunctionName.replace('tenantry-prod-', '')
        const [role] = Properties.Role['Fn::GetAtt']
        expect(resources.get(role)?.Properties.ManagedPolicyArns, name).toBeUndefined()
        expect(resources.get(role)?.Properties.Policies, name).toBeUndefined()
        const statements = policies
          .filter(([, policy]) => policy.Properties.Roles.some((each: any) => each.Ref === role))
          .flatMap(([, policy]) => policy.Properties.PolicyDocument.Statement)
          .filter(({ Effect }) => Effect === 'Allow')
        const all = statements.flatMap(({ Action, Resource }) =>
          listed(Action).flatMap((action) => listed(Resource).map((each) => `${String(action)} ${named(each)}`)),
        )
        const own = all.filter((grant) => !EVERY_FUNCTION.includes(grant.replace(/\w[\w/-]*\/Logs$/, 'Logs')))
        return [name, own.toSorted()]
      }),
  )
}

const EVERY_FUNCTION = ['x']

describe('grants', () => {
  it('of each function', () => {
    console.log(JSON.stringify(grants(), null, 1))
  })
})
