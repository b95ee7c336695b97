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
import type { Faults } from '#infra/local/faults.ts'
import type { HttpServer } from '#infra/local/http-server.ts'

const GetSecretValueInput = v.object({
  SecretId: v.string(),
  VersionStage: v.optional(v.picklist(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS']), 'AWSCURRENT'),
  VersionId: v.optional(v.string()),
})

const PutSecretValueInput = v.object({
  SecretId: v.string(),
  ClientRequestToken: v.string(),
  SecretString: v.string(),
  VersionStages: v.array(v.string()),
})

const RotateSecretInput = v.object({ SecretId: v.string(), ClientRequestToken: v.string() })

const UpdateStageInput = v.object({ SecretId: v.string(), VersionStage: v.string(), MoveToVersionId: v.string() })

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns the ARN of a secret. Like AWS's it ends in a hyphen and six characters, here the same at every start. */
export const secretArn = (name: string): string =>
  `arn:aws:secretsmanager:${AWS_REGION}:${AWS_ACCOUNT}:secret:${name}-${digest(name).slice(0, 6)}`

/** The versions of a secret, by id: the text of each, which one of a rotation lacks at first, and its labels. */
type Versions = Map<string, { readonly text: string | null; readonly labels: Set<string> }>

const idOf = (text: string): string => digest(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')

/** Gives a label to one version, and takes it from the one that had it. That of AWSCURRENT becomes AWSPREVIOUS. */
function label(versions: Versions, id: string, name: string): void {
  for (const { labels } of versions.values())
    if (labels.delete(name) && name === 'AWSCURRENT') {
      for (const other of versions.values()) other.labels.delete('AWSPREVIOUS')
      labels.add('AWSPREVIOUS')
    }
  versions.get(id)?.labels.add(name)
}

/**
 * Serves what the service asks of Secrets Manager for the unmodified SDK client, by name or ARN: the current content of `secrets`,
 * and of `pending` as AWSPENDING. What is written stays until the server ends.
 */
export function startSecretsManager(options: {
  readonly secrets: Readonly<Record<string, string>>
  readonly pending?: Readonly<Record<string, string>>
  readonly faults?: Faults
  readonly port?: number
  readonly authorize?: Authorize
}): Promise<HttpServer> {
  const started = Date.now() / 1000
  const written = new Map<string, Versions>()
  const find = (given: string) => {
    const name = Object.keys({ ...options.secrets, ...options.pending }).find(
      (each) => each === given || secretArn(each) === given,
    )
    if (name === undefined) throw missing()
    const [current, pending] = [options.secrets[name], options.pending?.[name]]
    const versions = written.get(name) ?? new Map()
    if (!written.has(name)) {
      if (current !== undefined) versions.set(idOf(current), { text: current, labels: new Set(['AWSCURRENT']) })
      if (pending !== undefined) versions.set(idOf(pending), { text: pending, labels: new Set(['AWSPENDING']) })
    }
    return { Name: name, ARN: secretArn(name), versions }
  }
  const missing = () => new AwsError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.")
  const getSecretValue: AwsOperation = (input, ask) => {
    const { SecretId, VersionStage, VersionId } = parseInput(GetSecretValueInput, input)
    const { versions, ...names } = find(SecretId)
    const found = [...versions].find(
      ([id, { labels }]) => labels.has(VersionStage) && (VersionId === undefined || id === VersionId),
    )
    if (found === undefined || found[1].text === null) throw missing()
    ask('secretsmanager:GetSecretValue', names.ARN)
    const [id, { text, labels }] = found
    return { ...names, SecretString: text, VersionId: id, VersionStages: [...labels], CreatedDate: started }
  }
  const describeSecret: AwsOperation = (input, ask) => {
    const { versions, ...names } = find(parseInput(v.object({ SecretId: v.string() }), input).SecretId)
    ask('secretsmanager:DescribeSecret', names.ARN)
    return {
      ...names,
      VersionIdsToStages: Object.fromEntries([...versions].map(([id, { labels }]) => [id, [...labels]])),
    }
  }
  const putSecretValue: AwsOperation = (input, ask) => {
    const { SecretId, ClientRequestToken, SecretString, VersionStages } = parseInput(PutSecretValueInput, input)
    const { versions, ...names } = find(SecretId)
    ask('secretsmanager:PutSecretValue', names.ARN)
    written.set(names.Name, versions)
    versions.set(ClientRequestToken, { text: SecretString, labels: new Set() })
    for (const each of VersionStages) label(versions, ClientRequestToken, each)
    return { ...names, VersionId: ClientRequestToken, VersionStages }
  }
  const rotateSecret: AwsOperation = (input, ask) => {
    const { SecretId, ClientRequestToken } = parseInput(RotateSecretInput, input)
    const { versions, ...names } = find(SecretId)
    ask('secretsmanager:RotateSecret', names.ARN)
    written.set(names.Name, versions)
    versions.set(ClientRequestToken, { text: null, labels: new Set() })
    label(versions, ClientRequestToken, 'AWSPENDING')
    return { ...names, VersionId: ClientRequestToken }
  }
  const updateSecretVersionStage: AwsOperation = (input, ask) => {
    const { SecretId, VersionStage, MoveToVersionId } = parseInput(UpdateStageInput, input)
    const { versions, ...names } = find(SecretId)
    ask('secretsmanager:UpdateSecretVersionStage', names.ARN)
    written.set(names.Name, versions)
    label(versions, MoveToVersionId, VersionStage)
    return names
  }
  const operations = new Map([
    ['GetSecretValue', getSecretValue],
    ['DescribeSecret', describeSecret],
    ['PutSecretValue', putSecretValue],
    ['RotateSecret', rotateSecret],
    ['UpdateSecretVersionStage', updateSecretVersionStage],
  ])
  const { faults, port, authorize } = options
  const meet = faults && (() => faults.meet('secretsmanager'))
  return startAwsJson({ service: 'secretsmanager', operations, port, meet, authorize })
}
