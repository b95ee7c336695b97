import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { loginOf } from '#infra/local/postgres/database.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import { type Mailbox, startMailbox } from '#infra/local/mail/mailbox.ts'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { startSes } from '#infra/local/aws/ses.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { MAIL_KEY, PEPPER, startService, type TestService } from '#tests/support/service.ts'

// The tests provoke failures, and each would count in a metric.
vi.hoisted(() => {
  process.env['POWERTOOLS_METRICS_DISABLED'] = 'true'
})

const INVOKE = fileURLToPath(new URL('../../support/invoke-handler.ts', import.meta.url))
const MAILER = new URL('../../../functions/workers/deliver-mail/handler.ts', import.meta.url).href
const MOST_ATTEMPTS = 6
// The number of jobs that a mailer claims in one batch.
const AT_ONCE = 10

const cleanups: (() => Promise<unknown>)[] = []
let service: TestService
let owner: string
let faults: Faults
let mailbox: Mailbox
/** Runs after SES has stored an email and before it responds. */
let taken: () => Promise<void>
let env: Readonly<Record<string, string | undefined>>

beforeAll(async () => {
  service = await startService({ env: { INVITE_TENANT_LIMIT: '1000000' } })
  cleanups.push(() => service.close())
  owner = (await mintSession(service.database.admin, { email: 'owner@acme.test', slug: 'acme-print' })).token
  const stateDir = await mkdtemp(join(tmpdir(), 'tenantry-mail-'))
  cleanups.push(() => rm(stateDir, { recursive: true, force: true }))
  const kept = await startMailbox({ stateDir })
  cleanups.push(() => kept.close())
  mailbox = kept
  faults = createFaults()
  const keep: Mailbox['keep'] = async (message) => {
    const id = await kept.keep(message)
    await taken()
    return id
  }
  const ses = await startSes({ mailbox: { ...kept, keep }, faults })
  cleanups.push(() => ses.close())
  const secrets = await startSecretsManager({
    secrets: {
      pepper: JSON.stringify({ pepper: PEPPER }),
      'mail-key': JSON.stringify({ mail_key: MAIL_KEY }),
      mailer: JSON.stringify(loginOf(service.database.urls.mailer)),
    },
  })
  cleanups.push(() => secrets.close())
  env = {
    PATH: process.env['PATH'],
    PEPPER_SECRET_ID: 'pepper',
    MAIL_KEY_SECRET_ID: 'mail-key',
    DATABASE_SECRET_ID: 'mailer',
    DATABASE_TLS: 'disable',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
    AWS_ENDPOINT_URL_SESV2: ses.url,
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    POWERTOOLS_METRICS_DISABLED: 'true',
    HANDLER_FILE: MAILER,
  }
  taken = answerAtOnce
})
afterEach(async () => {
  taken = answerAtOnce
  await faults.set({ part: 'ses', mode: 'ok' })
  await service.database.admin`delete from app.jobs`
})
afterAll(async () => {
  faults.close()
  for (const cleanup of cleanups.toReversed()) await cleanup()
})

const answerAtOnce = async (): Promise<void> => {}

let people = 0

/** Sends invitations and expects 200. Returns their addresses. */
const inviteMany = (count: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      people += 1
      const email = `invited${people}@mailer.test`
      const body = { email, role: 'viewer' }
      const { status } = await service.request('POST /v1/members/invite', { token: owner, body })
      expect(status).toBe(200)
      return email
    }),
  )

/** Starts a mailer in a process of its own. */
function startMailer({ timeoutMs = 60_000 } = {}) {
  const child = fork(INVOKE, {
    env: { ...env, TIMEOUT_MS: String(timeoutMs) },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const result = new Promise<{ sent: number; leftMs: number }>((resolve, reject) => {
    child.once('message', resolve)
    void ended.then(() => reject(new Error('the mailer ended without a result')))
  })
  result.catch(() => {})
  return {
    /** The number of emails that it sent, and the time that it had left. */
    result,
    kill: async () => {
      child.kill('SIGKILL')
      const [, signal] = await ended
      expect(signal).toBe('SIGKILL')
    },
  }
}

const runMailer = async (): Promise<number> => (await startMailer().result).sent

/** Makes retries due and expires the leases of dead mailers. */
const passTime = () => service.database.admin`
  update app.jobs set run_at = least(run_at, now()),
         leased_until = case when leased_until is not null then now() - interval '1 second' end
   where completed_at is null and dead_at is null`

const leased = async (): Promise<number> =>
  (await service.database.admin`select from app.jobs where leased_until is not null`).length

const open = async (): Promise<number> =>
  (await service.database.admin`select from app.jobs where completed_at is null`).length

const until = (is: () => boolean | Promise<boolean>) => vi.waitUntil(is, { timeout: 15_000, interval: 10 })

/** On a busy machine an email may come too early for the account's rate: then SES refuses it, and the mailer ends. */
async function sendAll(): Promise<number> {
  let sent = 0
  for (let run = 0; run < 5 && (await open()) > 0; run += 1) {
    await passTime()
    sent += await runMailer()
  }
  return sent
}

/** Expects so many emails to each address, all with one link that opens the invitation. */
async function expectMailed(invited: readonly string[], times: number | 'at least once'): Promise<void> {
  for (const email of invited) {
    const messages = mailbox.messages(email)
    if (times === 'at least once') expect(messages.length, email).toBeGreaterThan(0)
    else expect(messages, email).toHaveLength(times)
    const links = new Set(messages.map(tokenIn))
    expect(links.size, email).toBe(1)
    const [token] = links
    const { status } = await service.request('POST /v1/auth/invitations/inspect', { body: { token } })
    expect(status, email).toBe(200)
  }
}

describe('a mailer process that is killed', () => {
  it('sends every email once after a mailer died with claimed jobs', async () => {
    const invited = await inviteMany(AT_ONCE)
    const calls = faults.counts().ses
    const mailer = startMailer()
    // The mailer waits for this lock before it reads the content of the emails.
    await service.database.admin.begin(async (sql) => {
      await sql`lock table app.tokens in access exclusive mode`
      await until(async () => (await leased()) === AT_ONCE)
      await mailer.kill()
    })
    // The mailer asked once what the account may send, and sent nothing.
    expect(faults.counts().ses).toBeLessThanOrEqual(calls + 1)
    expect(await runMailer()).toBe(0)
    await passTime()
    expect(await runMailer()).toBe(AT_ONCE)
    await expectMailed(invited, 1)
    expect(await open()).toBe(0)
  })

  it('sends every email again with the same link after a mailer died before completing its jobs', async () => {
    const invited = await inviteMany(AT_ONCE)
    let stored = 0
    taken = () => {
      stored += 1
      return new Promise(() => {})
    }
    const mailer = startMailer()
    await until(() => stored === AT_ONCE)
    await mailer.kill()
    taken = answerAtOnce
    await expectMailed(invited, 1)
    expect(await open()).toBe(AT_ONCE)
    expect(await runMailer()).toBe(0)
    await passTime()
    expect(await runMailer()).toBe(AT_ONCE)
    await expectMailed(invited, 2)
    expect(await open()).toBe(0)
  })

  it('loses no email when mailers are killed at any moment while SES refuses a quarter of the calls', {
    timeout: 60_000,
  }, async () => {
    const invited = await inviteMany(3 * AT_ONCE)
    await faults.set({ part: 'ses', mode: 'refuse', share: 0.25 })
    for (let round = 1; round <= 5; round += 1) {
      const calls = faults.counts().ses + 3 * round - 2
      const mailer = startMailer()
      await until(() => faults.counts().ses >= calls)
      await mailer.kill()
      await passTime()
    }
    expect(await open()).toBeGreaterThan(0)
    await faults.set({ part: 'ses', mode: 'ok' })
    await sendAll()
    await expectMailed(invited, 'at least once')
    expect(await open()).toBe(0)
  })
})

describe('a hanging SES', () => {
  it('ends a mailer before its Lambda timeout while SES hangs, and sends every email later', async () => {
    const invited = await inviteMany(3 * AT_ONCE)
    await faults.set({ part: 'ses', mode: 'hang' })
    // A mailer claims no jobs with less than ten seconds left.
    const mailer = startMailer({ timeoutMs: 13_000 })
    const { sent, leftMs } = await mailer.result
    expect(sent).toBe(0)
    expect(leftMs).toBeGreaterThan(0)
    expect(await leased()).toBe(0)
    await faults.set({ part: 'ses', mode: 'ok' })
    expect(await sendAll()).toBe(3 * AT_ONCE)
    await expectMailed(invited, 1)
  })
})

describe('SES down for a minute', () => {
  it('makes at most six attempts in an SES outage of one minute, and sends every email once within another', async () => {
    const invited = await inviteMany(AT_ONCE)
    const { admin } = service.database
    // Moves the retry times instead of waiting for them.
    const due = async () => {
      const [row] = await admin<{ seconds: number; attempts: number }[]>`
        select extract(epoch from min(run_at) - now())::float8 as seconds, max(attempts) as attempts
          from app.jobs where completed_at is null`
      return row ?? { seconds: 0, attempts: 0 }
    }
    const tick = (seconds: number) => admin`
      update app.jobs set run_at = run_at - make_interval(secs => ${seconds}::float8) where completed_at is null`
    await service.mail.faults.set({ part: 'ses', mode: 'refuse' })
    let moved = 0
    const began = performance.now()
    // The mailer keeps to the account's rate, so its own time passes too.
    const passed = () => moved + (performance.now() - began) / 1000
    while (passed() < 60) {
      await service.mail.deliver()
      const { seconds } = await due()
      await tick(Math.max(0, seconds))
      moved += Math.max(0, seconds)
    }
    await service.mail.faults.set({ part: 'ses', mode: 'ok' })
    const back = passed()
    while ((await open()) > 0) {
      const { seconds, attempts } = await due()
      expect(attempts).toBeLessThanOrEqual(MOST_ATTEMPTS)
      await tick(Math.max(0, seconds))
      moved += Math.max(0, seconds)
      await service.mail.deliver()
    }
    expect(passed() - back).toBeLessThan(65)
    for (const email of invited) expect(service.mail.to(email)).toHaveLength(1)
  })
})

describe('unreadable jobs', () => {
  it('delivers all other emails past unreadable jobs in a mailer process', async () => {
    await service.database.admin`
      insert into app.jobs (kind, payload, idempotency_key, run_at)
      select 'mail', '{"template": "unknown"}', 'poison' || n, now() - interval '1 hour' from generate_series(1, 25) n`
    const invited = await inviteMany(AT_ONCE)
    expect(await runMailer()).toBe(AT_ONCE)
    await expectMailed(invited, 1)
    const [row] = await service.database.admin`select count(*)::int as dead from app.jobs where dead_at is not null`
    expect(row?.['dead']).toBe(25)
  })
})
