import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { receive } from '#functions/workers/operate/instruction.ts'
import { proofOfOperator } from '#functions/workers/operate/queries.ts'
import { functionArn } from '#infra/local/aws/lambda.ts'
import { LOCAL_CALLER } from '#infra/local/aws/sts.ts'
import type { Sql } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { signedCommand } from '#tests/support/operator.ts'
import { ARN, REASON, useOperator } from './operator-commands.ts'

const { service, cli, command, invoke } = useOperator()

describe('the command line', () => {
  it('exits 2 without a reason for a stage, and when the reason has two lines', async () => {
    expect(await cli('set-status', 'acme-print', 'active', '--stage', 'dev')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--reason/),
    })
    expect(await cli('set-status', 'acme-print', 'active', '--reason', 'a\nb')).toMatchObject({ code: 2 })
  })

  it('gives a command on the local stack a reason when it names none', async () => {
    expect(await cli('enable-user', 'nobody@shops.test')).toMatchObject({ code: 0 })
  })

  it.each([
    [[]],
    [['bogus']],
    [['set-status', 'acme-print']],
    [['set-status', 'acme-print', 'active', 'more']],
    [['set-status', 'acme-print', 'weird']],
    [['create-tenant', '--slug', 's']],
    [['create-tenant', '--slug', 'no good', '--name', 'N', '--owner', 'a@b.test']],
    [['disable-user', 'a@b.test', '--slug', 's']],
    [['disable-user', '--what']],
    [['enable-user', 'a@b.test', '--force']],
    [['invite-owner', 'acme-print']],
    [['rotate-data-key']],
    [['rotate-data-key', 'acme-print', '--key', ARN]],
    [['rewrap', 'acme-print']],
    [['rewrap', 'acme-print', '--key', 'a1b2c3']],
    [['rewrap', 'acme-print', '--key', 'alias/vault']],
    [['rewrap', 'acme-print', '--key', 'arn:aws:kms:us-east-1:000000000000:alias/vault']],
    [['rewrap', 'acme-print', '--key', 'arn:aws:s3:us-east-1:000000000000:key/a1b2c3']],
    [['shred']],
    [['shred', 'acme-print', 'bolt-apparel']],
  ])('exits 2 on wrong usage: %j', async (words) => {
    expect(await command(...words)).toMatchObject({ code: 2 })
  })

  it('prints help and exits 0', async () => {
    const help = await command('--help')
    expect(help.code).toBe(0)
    for (const usage of ['set-status SLUG STATUS', 'rotate-data-key SLUG', 'rewrap SLUG --key ARN', 'shred SLUG']) {
      expect(help.stdout).toContain(usage)
    }
    expect(help.stdout).toMatch(/no way back[^]*Backups/)
  })

  it('has every command in infra/README.md', async () => {
    const { stdout } = await command('--help')
    const commands = [...stdout.matchAll(/^ {2}([a-z]+(?:-[a-z]+)*) /gm)].map(([, name = '']) => name)
    expect(commands.length).toBeGreaterThan(10)
    const readme = readFileSync('infra/README.md', 'utf8')
    expect(commands.filter((name) => !readme.includes(`\`${name} `) && !readme.includes(`\`${name}\``))).toEqual([])
  })
})

/** Changes a parameter of the caller's proof. */
const changed = (name: string, value: string) => (event: { caller: string }) => {
  const query = new URLSearchParams(event.caller)
  query.set(name, value)
  return { ...event, caller: query.toString() }
}

describe('the caller of a command', () => {
  const SUSPEND = { command: 'set-status', slug: 'bolt-apparel', status: 'suspended' }

  it('is in every audit entry of the command, with the reason', async () => {
    const { slug } = await service.newTenant()
    await command('set-status', slug, 'suspended')
    await command('set-status', slug, 'active')
    const written = await service.database.admin`
      select a.after from app.audit_log a join app.tenants t on t.id = a.tenant_id where t.slug = ${slug}`
    expect(written.map((entry) => entry['after'])).toEqual([
      { status: 'suspended', operator: LOCAL_CALLER, reason: REASON },
      { status: 'active', operator: LOCAL_CALLER, reason: REASON },
    ])
  })

  it.each<[what: string, change: (event: any) => unknown, outcome: object]>([
    ['no proof', (event) => ({ ...event, caller: undefined }), { invalid: expect.stringMatching(/^caller /) }],
    ['no reason', (event) => ({ ...event, reason: undefined }), { invalid: expect.stringMatching(/^reason /) }],
    [
      'a reason of two lines',
      (event) => ({ ...event, reason: 'a\nb' }),
      { invalid: expect.stringMatching(/^reason /) },
    ],
    ['a proof for another command', (event) => ({ ...event, slug: 'acme-print' }), { refused: expect.any(String) }],
    ['a proof for another reason', (event) => ({ ...event, reason: 'another' }), { refused: expect.any(String) }],
    ['another action', changed('Action', 'GetSessionToken'), { refused: expect.any(String) }],
    [
      'an unknown access key',
      changed('X-Amz-Credential', 'other/20261122/us-east-1/sts/aws4_request'),
      { refused: expect.any(String) },
    ],
    ['a forged signature', changed('X-Amz-Signature', '0'.repeat(64)), { refused: expect.any(String) }],
    ['a signature of the host alone', changed('X-Amz-SignedHeaders', 'host'), { refused: expect.any(String) }],
    [
      'a parameter that is not signed',
      (event) => ({ ...event, caller: `${event.caller}&DurationSeconds=1` }),
      { refused: expect.any(String) },
    ],
    [
      'a parameter twice',
      (event) => ({ ...event, caller: `${event.caller}&Version=2011-06-15` }),
      { refused: expect.any(String) },
    ],
  ])('is not accepted with %s', async (_, change, outcome) => {
    expect(await invoke(change(await signedCommand('operate', SUSPEND)))).toEqual(outcome)
  })

  it('is not accepted for another function, from another account, or minutes later', async () => {
    const refused = { refused: expect.any(String) }
    expect(await invoke(await signedCommand('tenantry-prod-operate', SUSPEND))).toEqual(refused)
    const event = await signedCommand('operate', SUSPEND)
    const elsewhere = functionArn('operate').replace('000000000000', '111111111111')
    const context = { ...lambdaContext, functionName: 'operate', invokedFunctionArn: elsewhere }
    expect(await receive(event, context)).toEqual(refused)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 6 * 60_000 })
    try {
      expect(await invoke(event)).toEqual(refused)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('the operator’s database role', () => {
  it('may store only invitations, and only into the tenant of its transaction', async () => {
    const operator = connectTo(service.database.operatorUrl, { connections: 1, prepare: true })
    onTestFinished(() => operator.close())
    const [{ acme, owner } = {}] = await service.database.admin<{ acme: string; owner: string }[]>`
      select t.id as acme, u.id as owner from app.tenants t, app.users u
       where t.slug = 'acme-print' and u.email = 'owner@acme.test'`
    if (acme === undefined || owner === undefined) throw new Error('no seed')
    const hash = () => randomBytes(32)
    await expect(
      operator.sql`insert into app.tokens (token_hash, purpose, user_id, expires_at)
                   values (${hash()}, 'password_reset', ${owner}, now() + interval '1 hour')`,
    ).rejects.toMatchObject({ code: '42501' })
    await expect(
      operator.sql`insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
                   values (${hash()}, 'invite', ${acme}, 'planted@acme.test', 1, now() + interval '1 hour')`,
    ).rejects.toMatchObject({ code: '42501' })
    const invite = (sql: Sql) => sql<{ id: string }>`
      select id from app.store_invitation('planted@acme.test', 1, ${hash()}, 60)`
    const [stored] = await operator.write(async (sql) => invite(await proofOfOperator(sql, acme, 'a test').enter(sql)))
    const [token] = await service.database.admin`
      select tenant_id, invited_by from app.tokens where id = ${stored?.id ?? ''}`
    expect(token).toEqual({ tenant_id: acme, invited_by: null })
  })
})

it('exits with the code of its command line', async () => {
  const run = promisify(execFile)(process.execPath, ['infra/tools/operate.ts', '--no-such-option'])
  await expect(run).rejects.toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('npm run operate') })
})
