import { randomBytes } from 'node:crypto'
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import * as v from 'valibot'
import { Login, type TlsOptions, trustFor } from '#shared/db/login.ts'
import { scramVerifier } from '#shared/db/scram.ts'
import { signIn } from '#shared/db/sign-in.ts'
import { type SecretVersions, secretVersions } from './secret-versions.ts'

const PASSWORD_BYTES = 36

/** What Secrets Manager sends: https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotate-secrets_lambda-functions.html */
const RotationEvent = v.object({
  Step: v.picklist(['createSecret', 'setSecret', 'testSecret', 'finishSecret']),
  SecretId: v.string(),
  ClientRequestToken: v.string(),
})

interface Rotation {
  readonly versions: SecretVersions
  /** The id of the version that becomes current. */
  readonly token: string
  readonly security: TlsOptions
}

const STEPS = {
  createSecret: createPending,
  setSecret: setPassword,
  testSecret: testPending,
  finishSecret: makePendingCurrent,
}

/**
 * Does one of the four steps in which Secrets Manager replaces the password of a login. Each may run again. A login changes its own
 * password: nobody else's rights are needed. Throws when a step cannot be done; the current password works until the second step,
 * and the pending one after it.
 */
export async function rotatePassword(
  event: unknown,
  { security, client }: { readonly security: TlsOptions; readonly client: SecretsManagerClient },
): Promise<void> {
  const { Step, SecretId, ClientRequestToken: token } = v.parse(RotationEvent, event)
  const versions = secretVersions(client, SecretId)
  const labels = (await versions.labels())[token]
  if (labels === undefined) throw new Error('the secret has no version of this rotation')
  if (labels.includes('AWSCURRENT')) return
  await STEPS[Step]({ versions, token, security })
}

async function createPending({ versions, token }: Rotation): Promise<void> {
  if ((await versions.read('AWSPENDING', token)) !== null) return
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const current = v.parse(v.pipe(v.string(), v.parseJson(), v.looseObject({})), await versions.read('AWSCURRENT'))
  await versions.putPending(token, JSON.stringify({ ...current, password }))
}

async function setPassword({ versions, token, security }: Rotation): Promise<void> {
  const pending = await loginOf(versions, 'AWSPENDING', token)
  if (await signsIn(pending, security)) return
  for (const label of ['AWSCURRENT', 'AWSPREVIOUS'] as const) {
    const known = await loginOf(versions, label).catch(() => null)
    if (known !== null && (await replaced({ ...pending, password: known.password }, pending.password, security))) return
  }
  throw new Error('neither the current nor the previous password of the login works')
}

async function testPending({ versions, token, security }: Rotation): Promise<void> {
  if (!(await signsIn(await loginOf(versions, 'AWSPENDING', token), security)))
    throw new Error('the login cannot sign in with its pending password')
}

async function makePendingCurrent({ versions, token }: Rotation): Promise<void> {
  const [current] = Object.entries(await versions.labels()).find(([, labels]) => labels.includes('AWSCURRENT')) ?? []
  await versions.makeCurrent(token, current)
}

async function loginOf(versions: SecretVersions, label: string, token?: string): Promise<Login> {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), Login), await versions.read(label, token))
  // The issues have their input, which is the secret.
  if (!parsed.success) throw new Error(`the secret has no login with the label ${label}`)
  return parsed.output
}

const signsIn = (login: Login, security: TlsOptions): Promise<boolean> => signIn(login, trustFor(security))

/** Signs in and replaces the login's own password. Returns false when the present password is refused. */
const replaced = (login: Login, password: string, security: TlsOptions): Promise<boolean> =>
  signIn(login, trustFor(security), async (sql) => {
    // ALTER ROLE takes no parameters; format() quotes. The verifier keeps the password out of logs and statistics.
    const [statement] = await sql<{ text: string }[]>`
      select format('alter role current_user password %L', ${scramVerifier(password)}::text) as text`
    await sql.unsafe(statement?.text ?? '')
  })
