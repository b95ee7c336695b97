import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { describe, expect, it, onTestFinished } from 'vitest'
import { secretArn, startSecretsManager } from '#infra/local/aws/secrets-manager.ts'

async function getter() {
  const server = await startSecretsManager({ secrets: { a: 'current', b: 'current' }, pending: { a: 'next' } })
  onTestFinished(() => server.close())
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const client = new SecretsManagerClient({ endpoint: server.url, region: 'us-east-1', credentials })
  return (SecretId: string, VersionStage?: string) => client.send(new GetSecretValueCommand({ SecretId, VersionStage }))
}

describe('local Secrets Manager', () => {
  it('returns a secret by its name and by its ARN', async () => {
    const get = await getter()
    const secret = { Name: 'a', ARN: secretArn('a'), SecretString: 'current', CreatedDate: expect.any(Date) }
    expect(await get('a')).toMatchObject(secret)
    expect(await get(secretArn('a'))).toMatchObject(secret)
  })

  it('returns the pending version of a secret that has one', async () => {
    const get = await getter()
    expect(await get('a', 'AWSPENDING')).toMatchObject({ SecretString: 'next', VersionStages: ['AWSPENDING'] })
    await expect(get('b', 'AWSPENDING')).rejects.toMatchObject({ name: 'ResourceNotFoundException' })
  })

  it.for(['other', 'toString', secretArn('other')])('rejects the unknown secret %s', async (SecretId) => {
    const get = await getter()
    await expect(get(SecretId)).rejects.toMatchObject({ name: 'ResourceNotFoundException' })
  })
})
