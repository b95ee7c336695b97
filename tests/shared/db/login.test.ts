import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, statSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { loginOf, urlFor } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { connect, type ConnectOptions, type Database } from '#shared/db/connect.ts'
import { isUnavailable } from '#shared/db/failure.ts'
import type { Login, ReadLogin } from '#shared/db/login.ts'

const PLAIN: ConnectOptions = { connections: 1, prepare: true, tls: 'disable', caFile: '' }

let admin: postgres.Sql
let login: Login
let folder: string
const cleanups: (() => unknown)[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-login-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const cluster = await startPostgres({ dataDir, durable: false })
  cleanups.push(() => cluster.stop('immediate'))
  admin = postgres(cluster.adminUrl, { max: 1, onnotice: () => {} })
  cleanups.push(() => admin.end())
  await admin`create role person login password 'first'`
  login = loginOf(urlFor(cluster.adminUrl, { user: 'person', password: 'first' }))
})
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup()
})

function opened(readLogin: ReadLogin, options: ConnectOptions = PLAIN): Database {
  const database = connect(readLogin, options)
  cleanups.push(() => database.close())
  return database
}

const endConnections = () => admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'person'`

/** Returns a role's secret that a test can rotate, and the versions that were read. */
function secret() {
  const versions: { AWSCURRENT: string; AWSPENDING?: string; AWSPREVIOUS?: string } = { AWSCURRENT: 'first' }
  const read: string[] = []
  const readLogin: ReadLogin = async (version) => {
    read.push(version)
    const password = versions[version]
    if (password === undefined) throw new Error('ResourceNotFoundException')
    return { ...login, password }
  }
  return { versions, read, readLogin }
}

const setPassword = (password: string) => admin.unsafe(`alter role person password '${password}'`)

describe('password rotation', () => {
  it('reads the password again for each new connection', async () => {
    await setPassword('first')
    const { versions, read, readLogin } = secret()
    const database = opened(readLogin)
    await database.call.repeatable`select 1`
    await database.call.repeatable`select 1`
    expect(read).toEqual(['AWSCURRENT'])
    await setPassword('second')
    versions.AWSCURRENT = 'second'
    await endConnections()
    await expect.poll(() => database.call.repeatable`select 1 as one`.catch(() => [])).toEqual([{ one: 1 }])
    expect(read).toEqual(['AWSCURRENT', 'AWSCURRENT'])
  })

  it('connects with the pending version when the current one is refused', async () => {
    await setPassword('next')
    const { versions, read, readLogin } = secret()
    versions.AWSPENDING = 'next'
    const database = opened(readLogin)
    expect(await Promise.all([1, 2, 3].map((n) => database.call.repeatable`select ${n}::int as n`))).toHaveLength(3)
    expect(read).toEqual(['AWSCURRENT', 'AWSPENDING'])
  })

  it('rejects as unavailable when every version is refused, trying each once, and recovers', async () => {
    await setPassword('other')
    const { versions, read, readLogin } = secret()
    const database = opened(readLogin)
    for (const pending of [undefined, 'wrong too']) {
      if (pending !== undefined) versions.AWSPENDING = pending
      read.length = 0
      const failure = await database.call.repeatable`select 1`.catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: '28P01' })
      expect(isUnavailable(failure)).toBe(true)
      expect(read).toEqual(['AWSCURRENT', 'AWSPENDING'])
    }
    versions.AWSCURRENT = 'other'
    expect(await database.call.repeatable`select 1 as one`).toEqual([{ one: 1 }])
  })

  it('rejects as unavailable when the secret cannot be read, and reads it again for the next connection', async () => {
    await setPassword('first')
    let broken = true
    const { readLogin } = secret()
    const database = opened((version) => (broken ? Promise.reject(new Error('no secret')) : readLogin(version)))
    const failure = await database.call.repeatable`select 1`.catch((error: unknown) => error)
    expect(isUnavailable(failure)).toBe(true)
    broken = false
    expect(await database.call.repeatable`select 1 as one`).toEqual([{ one: 1 }])
  })
})

describe('TLS', () => {
  const ca = () => join(folder, 'ca.crt')
  beforeAll(async () => {
    await setPassword('first')
    const dataDir = (await admin<{ data_directory: string }[]>`show data_directory`)[0]?.data_directory ?? ''
    const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
    openssl(...'req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=test-ca'.split(' '))
    openssl(...'req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost'.split(' '))
    execFileSync('sh', ['-c', 'echo subjectAltName=DNS:localhost > san'], { cwd: folder })
    openssl(
      ...'x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile san'.split(
        ' ',
      ),
    )
    const { uid, gid } = statSync(dataDir)
    for (const name of ['server.key', 'server.crt']) {
      await copyFile(join(folder, name), join(dataDir, name))
      chmodSync(join(dataDir, name), 0o600)
      chownSync(join(dataDir, name), uid, gid)
    }
    await admin`alter system set ssl = on`
    await admin`select pg_reload_conf()`
    await vi.waitUntil(
      async () => (await admin`select from pg_settings where name = 'ssl' and setting = 'on'`).length === 1,
    )
  })

  const encrypted = (host: string, caFile: string) =>
    opened(async () => ({ ...login, host, password: 'first' }), { ...PLAIN, tls: 'verify-full', caFile }).call
      .repeatable`select ssl from pg_stat_ssl where pid = pg_backend_pid()`

  it('encrypts the connection and verifies the server certificate against the CA file', async () => {
    expect(await encrypted('localhost', ca())).toEqual([{ ssl: true }])
  })
  it('rejects a certificate of an unknown issuer', async () => {
    await expect(encrypted('localhost', '')).rejects.toThrow(/certificate|issuer/i)
  })
  it('rejects a certificate of another host', async () => {
    await expect(encrypted('127.0.0.1', ca())).rejects.toThrow(/altnames|IP/i)
  })
  it('rejects an unencrypted connection to another machine', async () => {
    const database = opened(async () => ({ ...login, host: '192.0.2.1' }))
    await expect(database.call.repeatable`select 1`).rejects.toThrow('DATABASE_TLS')
  })
})
