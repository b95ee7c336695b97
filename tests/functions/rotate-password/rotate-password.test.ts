import { randomUUID } from 'node:crypto'
import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  RotateSecretCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager'
import postgres from 'postgres'
import { expect, inject, it, onTestFinished } from 'vitest'
import { rotatePassword } from '#functions/workers/rotate-password/rotate-password.ts'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { loginOf, urlFor } from '#infra/local/postgres/database.ts'

const SECURITY = { tls: 'disable', caFile: '' } as const
const STEPS = ['createSecret', 'setSecret', 'testSecret', 'finishSecret'] as const

/** Makes a login with a secret, and Secrets Manager with a rotation of it that has begun. */
async function begunRotation() {
  const username = `rotated_${randomUUID().slice(0, 8)}`
  const admin = postgres(inject('adminUrl'), { max: 1 })
  onTestFinished(async () => {
    await admin.unsafe(`drop role ${username}`)
    await admin.end()
  })
  await admin.unsafe(`create role ${username} login password 'one'`)
  const login = loginOf(urlFor(inject('adminUrl'), { user: username, password: 'one' }))
  const server = await startSecretsManager({ secrets: { login: JSON.stringify({ ...login, engine: 'postgres' }) } })
  onTestFinished(() => server.close())
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const client = new SecretsManagerClient({ endpoint: server.url, region: 'us-east-1', credentials })
  const token = randomUUID()
  await client.send(new RotateSecretCommand({ SecretId: 'login', ClientRequestToken: token }))
  return {
    admin,
    username,
    token,
    step: (Step: string, ClientRequestToken = token) =>
      rotatePassword({ Step, SecretId: 'login', ClientRequestToken }, { security: SECURITY, client }),
    /** The fields of the version with a label. */
    version: async (VersionStage: string) => {
      const { SecretString = '' } = await client.send(new GetSecretValueCommand({ SecretId: 'login', VersionStage }))
      return JSON.parse(SecretString)
    },
    labels: async () => {
      const { VersionIdsToStages = {} } = await client.send(new DescribeSecretCommand({ SecretId: 'login' }))
      return VersionIdsToStages[token]
    },
    signsIn: async (password: string) => {
      const sql = postgres({ ...login, database: login.dbname, password, max: 1 })
      try {
        return (await sql`select 1`).length === 1
      } catch {
        return false
      } finally {
        await sql.end()
      }
    },
  }
}

it('replaces the password of a login in four steps, and keeps the other fields of its secret', async () => {
  const { step, version, labels, signsIn, username } = await begunRotation()
  for (const each of STEPS) await step(each)
  const { password, ...rest } = await version('AWSCURRENT')
  expect(rest).toMatchObject({ engine: 'postgres', username })
  expect(await labels()).toContain('AWSCURRENT')
  expect([await signsIn(password), await signsIn('one')]).toEqual([true, false])
  expect((await version('AWSPREVIOUS')).password).toBe('one')
})

it('does no step twice: one that runs again finds its work done', async () => {
  const { step, version, signsIn } = await begunRotation()
  await step('createSecret')
  const { password } = await version('AWSPENDING')
  for (const each of STEPS) {
    await step(each)
    await step(each)
  }
  expect((await version('AWSCURRENT')).password).toBe(password)
  expect(await signsIn(password)).toBe(true)
})

it('leaves the current password in use until the second step', async () => {
  const { step, version, signsIn } = await begunRotation()
  await step('createSecret')
  await expect(step('testSecret')).rejects.toThrow('pending password')
  expect(await signsIn('one')).toBe(true)
  expect((await version('AWSCURRENT')).password).toBe('one')
})

it('changes nothing when no known password works, and names no password in the error', async () => {
  const { admin, username, step, version, signsIn } = await begunRotation()
  await step('createSecret')
  await admin.unsafe(`alter role ${username} password 'by hand'`)
  const { password } = await version('AWSPENDING')
  const error: unknown = await step('setSecret').catch((thrown: unknown) => thrown)
  expect(String(error)).toContain('neither the current nor the previous password')
  expect(String(error)).not.toContain(password)
  expect(await signsIn('by hand')).toBe(true)
})

it('stores no password in a form that shows it to who reads the statements of Postgres', async () => {
  const { admin, username, step, version } = await begunRotation()
  for (const each of STEPS) await step(each)
  const { password } = await version('AWSCURRENT')
  const [role] = await admin`select rolpassword from pg_authid where rolname = ${username}`
  expect(role?.['rolpassword']).toMatch(/^SCRAM-SHA-256\$4096:/)
  expect(password).toHaveLength(48)
})

it('refuses an event that is of no rotation of the secret', async () => {
  const { step } = await begunRotation()
  await expect(step('createSecret', randomUUID())).rejects.toThrow('no version of this rotation')
  await expect(step('dropSecret')).rejects.toThrow()
})
