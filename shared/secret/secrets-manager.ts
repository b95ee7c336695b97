import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import * as v from 'valibot'

/** A version of a secret by its staging label; AWSPENDING is there while the secret is being rotated. */
export type SecretVersion = 'AWSCURRENT' | 'AWSPENDING'

const READ_TIMEOUT_MS = 5000
let client: SecretsManagerClient | null = null

/** Reads a secret that is JSON. Throws when it is not there, not whole, or does not come in time: five seconds, unless told otherwise. */
export async function readSecret<Schema extends v.GenericSchema>(
  id: string,
  schema: Schema,
  { version = 'AWSCURRENT', timeoutMs = READ_TIMEOUT_MS }: { version?: SecretVersion; timeoutMs?: number } = {},
): Promise<v.InferOutput<Schema>> {
  client ??= new SecretsManagerClient({ maxAttempts: 2 })
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: id, VersionStage: version }), {
    abortSignal: AbortSignal.timeout(timeoutMs),
  })
  const json = v.safeParse(v.pipe(v.string(), v.parseJson()), SecretString)
  if (!json.success) throw new Error('a secret is not JSON')
  const parsed = v.safeParse(schema, json.output)
  if (parsed.success) return parsed.output
  // The issues say what is wrong in which field; their input, which is the secret, goes nowhere.
  throw new Error(`a secret is not whole: ${parsed.issues.map((issue) => v.getDotPath(issue) ?? 'all').join(', ')}`)
}
