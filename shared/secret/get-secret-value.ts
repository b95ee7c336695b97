import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'

const client = new SecretsManagerClient({ maxAttempts: 2 })

/** Returns the text of a secret's version. A file of its own, which brings the AWS SDK: import it when it is first needed. */
export async function getSecretValue(id: string, version: string, timeoutMs: number): Promise<string | undefined> {
  const command = new GetSecretValueCommand({ SecretId: id, VersionStage: version })
  const { SecretString } = await client.send(command, { abortSignal: AbortSignal.timeout(timeoutMs) })
  return SecretString
}
