import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager'

/** Returns the versions of a secret. */
export const secretVersions = (client: SecretsManagerClient, SecretId: string) => ({
  /** Returns the labels of each version, by its id. */
  async labels(): Promise<Readonly<Record<string, readonly string[]>>> {
    const { VersionIdsToStages } = await client.send(new DescribeSecretCommand({ SecretId }))
    return VersionIdsToStages ?? {}
  },
  /** Returns the text of the version with a label, and with an id if one is given. Null: there is none. */
  async read(VersionStage: string, VersionId?: string): Promise<string | null> {
    try {
      const command = new GetSecretValueCommand({
        SecretId,
        VersionStage,
        ...(VersionId === undefined ? {} : { VersionId }),
      })
      return (await client.send(command)).SecretString ?? null
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return null
      throw error
    }
  },
  /** Stores a version with the label AWSPENDING. */
  async putPending(ClientRequestToken: string, SecretString: string): Promise<void> {
    await client.send(
      new PutSecretValueCommand({ SecretId, ClientRequestToken, SecretString, VersionStages: ['AWSPENDING'] }),
    )
  },
  /** Moves the label AWSCURRENT. Secrets Manager labels the version that loses it AWSPREVIOUS. */
  async makeCurrent(MoveToVersionId: string, RemoveFromVersionId: string | undefined): Promise<void> {
    const more = RemoveFromVersionId === undefined ? {} : { RemoveFromVersionId }
    await client.send(
      new UpdateSecretVersionStageCommand({ SecretId, VersionStage: 'AWSCURRENT', MoveToVersionId, ...more }),
    )
  },
})

export type SecretVersions = ReturnType<typeof secretVersions>
