import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type PostgresOptions, startPostgres } from '#infra/local/postgres/postgres.ts'
import { tempFolder } from '#tests/infra/local/temp-folder.ts'

function dataFolder(): string {
  const folder = tempFolder()
  chmodSync(folder, 0o755)
  return join(folder, 'postgres')
}

async function started(options: Partial<PostgresOptions> = {}) {
  const server = await startPostgres({ dataDir: dataFolder(), durable: false, ...options })
  onTestFinished(() => server.close())
  return server
}

async function ask<Row extends object>(url: string, text: string): Promise<Row[]> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} })
  try {
    return [...(await sql.unsafe<Row[]>(text))]
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('embedded Postgres', () => {
  it('is Postgres 17 and listens on loopback, with a password', async () => {
    const dataDir = dataFolder()
    const server = await started({ dataDir })
    const [settings] = await ask(
      server.adminUrl,
      `select current_setting('server_version_num')::int / 10000 as major, current_setting('listen_addresses') as addresses,
        current_setting('unix_socket_directories') as sockets, current_setting('fsync') as fsync, current_setting('jit') as jit`,
    )
    expect(settings).toEqual({ major: 17, addresses: '127.0.0.1', sockets: '', fsync: 'off', jit: 'off' })
    const wrong = server.adminUrl.replace(/:[0-9a-f]{48}@/, ':wrong@')
    await expect(ask(wrong, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    expect(statSync(join(dataDir, 'password')).mode & 0o777).toBe(0o600)
  })

  it('runs with fsync if durable, and loads the given libraries', async () => {
    const server = await started({ durable: true, preload: ['pg_stat_statements'] })
    await ask(server.adminUrl, 'create extension pg_stat_statements')
    await ask(server.adminUrl, 'select 42 as answer')
    const rows = await ask(
      server.adminUrl,
      `select current_setting('fsync') as fsync, count(*)::int from pg_stat_statements
      where query like '%as answer%' and query not like '%pg_stat%'`,
    )
    expect(rows).toEqual([{ fsync: 'on', count: 1 }])
  })

  it('keeps data, password and port over a restart and a crash', async () => {
    const dataDir = dataFolder()
    const first = await startPostgres({ dataDir, durable: true })
    await ask(first.adminUrl, 'create table kept as select 1 as n')
    await first.stop('fast')
    expect(() => first.pid()).toThrow('does not run')
    await first.start()
    await ask(first.adminUrl, 'insert into kept values (2)')
    await first.stop('immediate')
    const second = await started({ dataDir, durable: true })
    expect(second.adminUrl).toBe(first.adminUrl)
    expect(await ask(second.adminUrl, 'select n from kept order by n')).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('recovers from a SIGKILL', async () => {
    const dataDir = dataFolder()
    const first = await startPostgres({ dataDir, durable: true })
    await ask(first.adminUrl, 'create table kept as select 1 as n')
    const sleeping = ask(first.adminUrl, 'select pg_sleep(60)').catch(() => {})
    await delay(100)
    process.kill(first.pid(), 'SIGKILL')
    await sleeping
    const second = await started({ dataDir, durable: true })
    expect(await ask(second.adminUrl, 'select n from kept')).toEqual([{ n: 1 }])
  })

  it('rejects a cluster on which another postmaster runs, and names the process', async () => {
    const dataDir = dataFolder()
    const server = await started({ dataDir })
    const again = startPostgres({ dataDir, durable: false })
    await expect(again).rejects.toMatchObject({ name: 'PostgresStillRunning', pid: server.pid() })
    expect(await ask(server.adminUrl, 'select 1 as n')).toEqual([{ n: 1 }])
  })

  it('starts although another process has the id of a killed postmaster', async () => {
    const dataDir = dataFolder()
    const first = await startPostgres({ dataDir, durable: false })
    const number = String(first.pid())
    process.kill(first.pid(), 'SIGKILL')
    await delay(200)
    const owner = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
    const other = spawn('sleep', ['60'], { stdio: 'ignore', ...owner })
    onTestFinished(async () => {
      other.kill()
      await once(other, 'exit')
    })
    const pidFile = join(dataDir, 'cluster', 'postmaster.pid')
    writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(number, String(other.pid)))
    const second = await started({ dataDir })
    expect(await ask(second.adminUrl, 'select 1 as n')).toEqual([{ n: 1 }])
  })

  it('stops when the process that started it is killed', async () => {
    const dataDir = dataFolder()
    const module = JSON.stringify(new URL('../../../../infra/local/postgres/postgres.ts', import.meta.url).href)
    const script = `const { startPostgres } = await import(${module})
      console.log((await startPostgres({ dataDir: ${JSON.stringify(dataDir)}, durable: false })).pid())`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(parent.stdout, 'data')
    const pid = Number(line)
    expect(isAlive(pid)).toBe(true)
    parent.kill('SIGKILL')
    await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
    await started({ dataDir })
  })

  it('reports the output of Postgres if it does not start', async () => {
    const asked = startPostgres({ dataDir: dataFolder(), durable: false, preload: ['no_such_library'] })
    await expect(asked).rejects.toThrow(/did not start:[^]*no_such_library/)
  })

  it('runs below a folder that only its owner may enter', async () => {
    const folder = tempFolder()
    chmodSync(folder, 0o700)
    const dataDir = join(folder, 'postgres')
    const area = createHash('sha256').update(dataDir).digest('hex').slice(0, 12)
    onTestFinished(() => rmSync(`/var/tmp/tenantry-postgres-${area}`, { recursive: true, force: true }))
    const server = await started({ dataDir })
    expect(await ask(server.adminUrl, 'select 1 as n')).toEqual([{ n: 1 }])
  })
})
