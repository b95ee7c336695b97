import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AWS_ACCOUNT, AWS_REGION } from '#infra/local/aws/aws-endpoints.ts'
import { busArn } from '#infra/local/aws/event-bridge.ts'
import { functionArn } from '#infra/local/aws/lambda.ts'
import { secretArn } from '#infra/local/aws/secrets-manager.ts'

/** A resource of a CloudFormation template. */
export interface Resource {
  readonly Type: string
  readonly Properties: any
}

/** The output of `cdk synth` for a stage: the template and the folder of the bundles. */
export interface Assembly {
  readonly folder: string
  readonly resources: Readonly<Record<string, Resource>>
}

/** The declaration of a function in the template. */
export interface DeclaredFunction {
  readonly id: string
  readonly name: string
  /** The logical id of its role. */
  readonly role: string
  /** The folder of its bundle. */
  readonly bundle: string
  /** `file.export`. */
  readonly handler: string
  readonly timeoutSeconds: number
  readonly memoryMib: number
  /** The ports outside the VPC to which its security groups let it connect. Those to the database have no number in the template. */
  readonly egressPorts: readonly number[]
  /** The environment variables, unresolved. */
  readonly variables: Readonly<Record<string, unknown>>
}

/** The template declares something that cannot be deployed, or not here. */
export class Undeployable extends Error {
  override name = 'Undeployable'
}

export function readAssembly(folder: string, stage: string): Assembly {
  const template = JSON.parse(readFileSync(join(folder, `tenantry-${stage}.template.json`), 'utf8'))
  return { folder, resources: template.Resources }
}

export const ofType = ({ resources }: Assembly, type: string): [id: string, properties: any][] =>
  Object.entries(resources)
    .filter(([, { Type }]) => Type === type)
    .map(([id, { Properties }]) => [id, Properties])

/** Returns the folder of a function's bundle. */
export const bundleOf = ({ folder }: Assembly, code: { readonly S3Key: string }): string =>
  join(folder, `asset.${code.S3Key.replace(/\.zip$/, '')}`)

/** Returns the functions of the service by name. Leaves out the CDK's own functions, which have no name. */
export function declaredFunctions(assembly: Assembly): ReadonlyMap<string, DeclaredFunction> {
  const named = ofType(assembly, 'AWS::Lambda::Function').filter(([, { FunctionName }]) => FunctionName !== undefined)
  return new Map(
    named.map(([id, { FunctionName, Role, Code, Handler, Timeout, MemorySize, Environment, VpcConfig }]) => {
      const role = Role['Fn::GetAtt'][0]
      return [
        FunctionName,
        {
          id,
          name: FunctionName,
          role,
          bundle: bundleOf(assembly, Code),
          handler: Handler,
          timeoutSeconds: Timeout,
          memoryMib: MemorySize,
          // Outside of the VPC nothing but HTTPS is needed, and Lambda restricts nothing.
          egressPorts:
            VpcConfig === undefined
              ? [443]
              : VpcConfig.SecurityGroupIds.flatMap((group: any) =>
                  (assembly.resources[group['Fn::GetAtt'][0]]?.Properties.SecurityGroupEgress ?? []).map(
                    ({ FromPort }: any) => FromPort,
                  ),
                ),
          variables: Environment.Variables,
        },
      ]
    }),
  )
}

/** The values of a running stage. */
export interface Running {
  /** Returns the ARN of a KMS key. */
  readonly keyArn: (id: string) => string
  /** Returns the value of a secret, for dynamic references. */
  readonly secretValue: (id: string) => string
}

/** Resolves a value of the template to text. The message of an error names `where`. */
export type Resolve = (value: unknown, where: string) => string

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': AWS_ACCOUNT,
  'AWS::Partition': 'aws',
  'AWS::Region': AWS_REGION,
  'AWS::URLSuffix': 'amazonaws.com',
}

/** Returns the id of a secret, given the secret or its attachment to the database. Throws Undeployable for anything else. */
export function secretOf({ resources }: Assembly, id: string): string {
  const resource = resources[id]
  if (resource?.Type === 'AWS::SecretsManager::Secret') return id
  if (resource?.Type === 'AWS::SecretsManager::SecretTargetAttachment') return resource.Properties.SecretId.Ref
  throw new Undeployable(`${id} is not a secret`)
}

/**
 * Returns a function that resolves intrinsic functions and dynamic references as a deployment would, to the local parts. It
 * throws Undeployable for anything else.
 */
export function resolver(assembly: Assembly, running: Running): Resolve {
  const { resources } = assembly
  const arn = (service: string, rest: string) => `arn:aws:${service}:${AWS_REGION}:${AWS_ACCOUNT}:${rest}`

  const ref = (id: string, where: string): string => {
    const pseudo = PSEUDO[id]
    if (pseudo !== undefined) return pseudo
    const resource = resources[id]
    switch (resource?.Type ?? '') {
      case 'AWS::SecretsManager::Secret':
      case 'AWS::SecretsManager::SecretTargetAttachment':
        return secretArn(secretOf(assembly, id))
      case 'AWS::Lambda::Function':
        return resource?.Properties.FunctionName
      case 'AWS::Lambda::Alias':
        return `${functionArn(ref(resource?.Properties.FunctionName.Ref, where))}:${resource?.Properties.Name}`
      case 'AWS::Lambda::Version':
        // The CDK makes another id for another version. Lambda numbers them.
        return `${functionArn(ref(resource?.Properties.FunctionName.Ref, where))}:${id}`
      case 'AWS::SES::EmailIdentity':
        return resource?.Properties.EmailIdentity
      case 'AWS::Events::EventBus':
        return resource?.Properties.Name
      case 'AWS::ApiGateway::Stage':
        return resource?.Properties.StageName
      case 'AWS::SNS::Topic':
        return arn('sns', id)
      case 'AWS::ApiGateway::RestApi':
      case 'AWS::SES::ConfigurationSet':
      case 'AWS::IAM::Role':
        return id
      default:
        throw new Undeployable(`${where}: Ref ${id} (${resource?.Type ?? 'no such resource'}) cannot be resolved`)
    }
  }

  const attribute = (id: string, name: string, where: string): string => {
    const resource = resources[id]
    switch (`${resource?.Type} ${name}`) {
      case 'AWS::KMS::Key Arn':
        return running.keyArn(id)
      case 'AWS::Lambda::Function Arn':
        return functionArn(resource?.Properties.FunctionName)
      case 'AWS::IAM::Role Arn':
        return `arn:aws:iam::${AWS_ACCOUNT}:role/${id}`
      case 'AWS::Logs::LogGroup Arn':
        return arn('logs', `log-group:${id}:*`)
      case 'AWS::SQS::Queue Arn':
        return arn('sqs', id)
      case 'AWS::Events::EventBus Arn':
        return busArn(resource?.Properties.Name)
      case 'AWS::ApiGateway::RestApi RootResourceId':
        return '/'
      default:
        throw new Undeployable(
          `${where}: Fn::GetAtt ${id}.${name} (${resource?.Type ?? 'no such resource'}) cannot be resolved`,
        )
    }
  }

  const resolve: Resolve = (value, where) => {
    if (typeof value === 'string') return dynamic(value, where)
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    const [[name, argument] = [], second] = Object.entries(Object(value)) as [string, any][]
    if (second !== undefined || name === undefined) throw new Undeployable(`${where}: ${JSON.stringify(value)}`)
    switch (name) {
      case 'Ref':
        return ref(argument, where)
      case 'Fn::GetAtt':
        return attribute(argument[0], argument[1], where)
      case 'Fn::Join':
        return dynamic(argument[1].map((part: unknown) => resolve(part, where)).join(argument[0]), where)
      case 'Fn::Select': {
        const [separator, text] = argument[1]['Fn::Split'] ?? []
        const part = resolve(text, where).split(separator)[Number(argument[0])]
        if (part === undefined) throw new Undeployable(`${where}: ${JSON.stringify(value)} is out of range`)
        return part
      }
      case 'Fn::Sub': {
        const [text, own] = typeof argument === 'string' ? [argument, {}] : argument
        return text.replace(/\$\{(!?)([\w:.]+)\}/g, (_: string, bare: string, id: string) => {
          if (bare === '!') return `\${${id}}`
          if (own[id] !== undefined) return resolve(own[id], where)
          const [resource = '', ...attributes] = id.split('.')
          return attributes.length === 0 ? ref(id, where) : attribute(resource, attributes.join('.'), where)
        })
      }
      default:
        throw new Undeployable(`${where}: ${name} is not supported here`)
    }
  }

  /** https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references-secretsmanager.html */
  const dynamic = (text: string, where: string): string =>
    text.replace(/\{\{resolve:([^}]*)\}\}/g, (reference: string, inside: string) => {
      const [, named = '', rest] = /^secretsmanager:(arn:[^:]+(?::[^:]*){4}:[^:]+|[^:]+):?(.*)$/.exec(inside) ?? []
      const id = Object.keys(resources).find((name) => secretArn(name) === named || name === named)
      const [kind, key = ''] = (rest ?? '').split(':')
      if (id === undefined || kind !== 'SecretString')
        throw new Undeployable(`${where}: ${reference} cannot be resolved`)
      const value = running.secretValue(id)
      return key === '' ? value : JSON.parse(value)[key]
    })

  return resolve
}
