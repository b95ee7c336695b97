import * as v from 'valibot'

/** The staging label of a secret's version. AWSPENDING exists only during a rotation, AWSPREVIOUS only after one. */
export type SecretVersion = 'AWSCURRENT' | 'AWSPENDING' | 'AWSPREVIOUS'

const READ_TIMEOUT_MS = 5000

/** Reads and parses a secret. Throws when it is missing, invalid, or not read within `timeoutMs`. */
export async function readSecret<Schema extends v.GenericSchema>(
  id: string,
  schema: Schema,
  { version = 'AWSCURRENT', timeoutMs = READ_TIMEOUT_MS }: { version?: SecretVersion; timeoutMs?: number } = {},
): Promise<v.InferOutput<Schema>> {
  const { getSecretValue } = await import('#shared/secret/get-secret-value.ts')
  const text = await getSecretValue(id, version, timeoutMs)
  const json = v.safeParse(v.pipe(v.string(), v.parseJson()), text)
  if (!json.success) throw new Error('a secret in Secrets Manager is not JSON')
  const parsed = v.safeParse(schema, json.output)
  if (parsed.success) return parsed.output
  // Only the names of the fields: the issues also have their input, which is the secret.
  throw new Error(
    `a secret in Secrets Manager has invalid fields: ${parsed.issues.map((issue) => v.getDotPath(issue) ?? 'all').join(', ')}`,
  )
}
