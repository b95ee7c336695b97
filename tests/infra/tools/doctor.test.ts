import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { doctor as commandLine } from '#infra/tools/doctor.ts'
import { runCommandLine } from '#tests/support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

let database: TestDatabase
let stateDir: string
let url: string

beforeAll(async () => {
  database = await createTestDatabase()
  url = urlFor(inject('adminUrl'), { database: database.name })
  stateDir = await mkdtemp(join(tmpdir(), 'tenantry-doctor-'))
})
afterAll(async () => {
  await database.drop()
  await rm(stateDir, { recursive: true })
})

async function doctor(words: readonly string[], env: Record<string, string> = {}) {
  for (const [name, value] of Object.entries({ STATE_DIR: stateDir, DATABASE_URL: undefined, ...env }))
    vi.stubEnv(name, value)
  return runCommandLine((output) => commandLine(words, output))
}

describe('npm run doctor', () => {
  it('exits 0 for a healthy database, 1 with a line for each fault, and 0 after its repair was run', async () => {
    expect(await doctor([url])).toMatchObject({ code: 0, stdout: expect.stringContaining('Faults: 0.'), stderr: '' })
    await database.admin`alter table app.styles no force row level security`
    const { code, stdout } = await doctor([url])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^FAULT {3}app\.styles: .* Repair: select app\.enforce_tenant\('app\.styles', p_system_rows => true\);$/m,
    )
    expect(stdout).toContain('Faults: 1.')
    const repair = /Repair: (select .*;)$/m.exec(stdout)?.[1] ?? ''
    await database.admin.unsafe(repair)
    expect(await doctor([url])).toMatchObject({ code: 0 })
  })

  it('prints the same as JSON', async () => {
    await database.admin`grant select on app.audit_log_default to identity_app`
    const { code, stdout } = await doctor([url, '--json'])
    await database.admin`revoke select on app.audit_log_default from identity_app`
    expect(code).toBe(1)
    const { sound, diagnoses } = JSON.parse(stdout)
    expect(sound).toBe(false)
    expect(diagnoses).toContainEqual({
      severity: 'fault',
      check: 'grant-on-partition',
      object: 'app.audit_log_default',
      fault: expect.any(String),
      repair: 'revoke select on app.audit_log_default from identity_app;',
    })
    expect(JSON.parse((await doctor([url, '--json'])).stdout).sound).toBe(true)
  })

  it('takes the address from its argument, DATABASE_URL or the local stack, in this order', async () => {
    const gone = 'postgres://nobody@127.0.0.1:1/none'
    expect(await doctor([], { DATABASE_URL: url })).toMatchObject({ code: 0 })
    expect(await doctor([url], { DATABASE_URL: gone })).toMatchObject({ code: 0 })
    expect(await doctor([])).toMatchObject({ code: 2, stderr: expect.stringContaining('give an address') })
    await writeFile(join(stateDir, 'stack.json'), JSON.stringify({ database_url: url }))
    expect(await doctor([])).toMatchObject({ code: 0 })
    expect(await doctor([], { DATABASE_URL: gone })).toMatchObject({ code: 2 })
    await rm(join(stateDir, 'stack.json'))
  })

  it('prints its help', async () => {
    expect(await doctor(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('npm run doctor') })
  })

  it.each([
    ['an unknown option', ['--fix']],
    ['two addresses', ['postgres://a/b', 'postgres://a/c']],
    ['a text that is no URL', ['user:tr0ub4dor@host']],
    ['a URL of another protocol', ['https://user:tr0ub4dor@host/db']],
    ['a host that does not respond', ['postgres://user:tr0ub4dor@127.0.0.1:1/db']],
    ['a password that cannot be decoded', ['postgres://user:tr0ub4dor%zz@127.0.0.1:1/db']],
  ])('exits 2 for %s and never prints a password', async (_what, words) => {
    const { code, stdout, stderr } = await doctor(words)
    expect(code).toBe(2)
    expect(stderr).not.toBe('')
    expect(stdout + stderr).not.toContain('tr0ub4dor')
  })

  it('exits 2 for a wrong password and prints neither it nor the right one', async () => {
    const wrong = urlFor(url, { password: 'tr0ub4dor&3' })
    const { code, stdout, stderr } = await doctor([wrong])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('password authentication failed')
    expect(stderr).not.toContain('tr0ub4dor')
    const right = decodeURIComponent(new URL(url).password)
    const said = await doctor([urlFor(url, { database: right })])
    expect(said.stderr).toContain('database "***" does not exist')
    const healthy = await doctor([url])
    expect(said.stderr + healthy.stdout + healthy.stderr).not.toContain(right)
  })
})

it('exits with the code of its command line', async () => {
  const run = promisify(execFile)(process.execPath, ['infra/tools/doctor.ts', '--no-such-option'])
  await expect(run).rejects.toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('npm run doctor') })
})
