import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { describe, expect, it, onTestFinished } from 'vitest'
import { secretArn, startSecretsManager } from '#infra/local/aws/secrets-manager.ts'

async function startedClient() {
  const server = await startSecretsManager({ secrets: { 'tenantry/service': '{"pepper":"x"}' } })
  onTestFinished(() => server.close())
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  return new SecretsManagerClient({ endpoint: server.url, region: 'us-east-1', credentials })
}

describe('local Secrets Manager', () => {
  it('gives a secret by its name and by its ARN', async () => {
    const client = await startedClient()
    const byName = await client.send(new GetSecretValueCommand({ SecretId: 'tenantry/service' }))
    expect(byName).toMatchObject({
      Name: 'tenantry/service',
      SecretString: '{"pepper":"x"}',
      ARN: secretArn('tenantry/service'),
    })
    const byArn = await client.send(new GetSecretValueCommand({ SecretId: byName.ARN }))
    expect(byArn.SecretString).toBe(byName.SecretString)
    expect(byArn.CreatedDate).toBeInstanceOf(Date)
  })

  it.for(['other', 'toString', secretArn('other')])('does not find %s', async (SecretId) => {
    const client = await startedClient()
    const asked = client.send(new GetSecretValueCommand({ SecretId }))
    await expect(asked).rejects.toMatchObject({ name: 'ResourceNotFoundException' })
  })

  it('gives the pending version to whoever asks for it, and finds none where none is', async () => {
    const server = await startSecretsManager({ secrets: { a: 'now', b: 'now' }, pending: { a: 'next' } })
    onTestFinished(() => server.close())
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
    const client = new SecretsManagerClient({ endpoint: server.url, region: 'us-east-1', credentials })
    const pending = (SecretId: string) =>
      client.send(new GetSecretValueCommand({ SecretId, VersionStage: 'AWSPENDING' }))
    expect(await pending('a')).toMatchObject({ SecretString: 'next', VersionStages: ['AWSPENDING'] })
    await expect(pending('b')).rejects.toMatchObject({ name: 'ResourceNotFoundException' })
  })
})
