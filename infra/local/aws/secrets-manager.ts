import { createHash } from 'node:crypto'
import * as v from 'valibot'
import {
  AWS_ACCOUNT,
  AWS_REGION,
  AwsError,
  type AwsOperation,
  type Authorize,
  parseInput,
  startAwsJson,
} from './aws-endpoints.ts'
import type { HttpServer } from '#infra/local/http-server.ts'

const GetSecretValueInput = v.object({
  SecretId: v.string(),
  VersionStage: v.optional(v.picklist(['AWSCURRENT', 'AWSPENDING']), 'AWSCURRENT'),
})

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns the ARN of a secret. Like AWS's it ends in a hyphen and six characters, here the same at every start. */
export const secretArn = (name: string): string =>
  `arn:aws:secretsmanager:${AWS_REGION}:${AWS_ACCOUNT}:secret:${name}-${digest(name).slice(0, 6)}`

/**
 * Serves Secrets Manager's GetSecretValue for the unmodified SDK client, by name or ARN: the current content of `secrets`,
 * and of `pending` as AWSPENDING.
 */
export function startSecretsManager(options: {
  readonly secrets: Readonly<Record<string, string>>
  readonly pending?: Readonly<Record<string, string>>
  readonly port?: number
  readonly authorize?: Authorize
}): Promise<HttpServer> {
  const started = Date.now() / 1000
  const getSecretValue: AwsOperation = (input, ask) => {
    const { SecretId, VersionStage } = parseInput(GetSecretValueInput, input)
    const versions = VersionStage === 'AWSCURRENT' ? options.secrets : (options.pending ?? {})
    const found = Object.entries(versions).find(([name]) => name === SecretId || secretArn(name) === SecretId)
    if (found === undefined) {
      throw new AwsError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.")
    }
    const [Name, SecretString] = found
    ask('secretsmanager:GetSecretValue', secretArn(Name))
    const version = digest(SecretString)
    return {
      ARN: secretArn(Name),
      Name,
      SecretString,
      VersionId: version.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5'),
      VersionStages: [VersionStage],
      CreatedDate: started,
    }
  }
  const operations = new Map([['GetSecretValue', getSecretValue]])
  return startAwsJson({ service: 'secretsmanager', operations, port: options.port, authorize: options.authorize })
}
