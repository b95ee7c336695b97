import { isIP } from 'node:net'
import * as v from 'valibot'
import { LegalName } from '#shared/schema/name.ts'
import { Email } from '#shared/schema/email.ts'
import { SERVICE_NAME, SERVICE_SCOPES } from '#shared/identity/service-key.ts'
import { isApiKey } from '#shared/secret/api-key.ts'
import { TENANT_STATUSES } from '#shared/identity/tenant.ts'
import { QUERY_NAMES } from './named-queries.ts'

/** How many keys one command revokes. */
export const MOST_LEAKED_KEYS = 1000

const Slug = v.pipe(
  v.string('must be a string'),
  v.regex(/^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/, 'must be letters, digits and inner hyphens, at most 63'),
)

const isTimeZone = (zone: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '' && isIP(zone) === 0
  } catch {
    return false
  }
}

const Status = v.picklist(TENANT_STATUSES, `must be one of: ${TENANT_STATUSES.join(', ')}`)

/** The name of a role or of a database. */
const DatabaseName = v.pipe(
  v.string('must be a string'),
  v.regex(/^[a-z_][a-z0-9_]{0,62}$/, 'must be a name of small letters, digits and _'),
)

const ServiceName = v.pipe(
  v.string('must be a string'),
  v.regex(SERVICE_NAME, 'must be small letters, digits and hyphens, at most 63, and begin with a letter'),
)

const ServiceScopes = v.pipe(
  v.array(v.picklist(SERVICE_SCOPES, `must be one of: ${SERVICE_SCOPES.join(', ')}`), 'must be a list'),
  v.minLength(1, 'must not be empty'),
  // Each once, in the order of the list.
  v.transform((scopes) => SERVICE_SCOPES.filter((scope) => scopes.includes(scope))),
)

// A refusal repeats none of them.
const LeakedKeys = v.pipe(
  v.array(v.pipe(v.string('must be text'), v.check(isApiKey, 'must be an API key')), 'must be a list'),
  v.minLength(1, 'must not be empty'),
  v.maxLength(MOST_LEAKED_KEYS, `must be at most ${MOST_LEAKED_KEYS}`),
)

const MAX_OVERLAP_HOURS = 720

// The command line sends text.
const OverlapHours = v.pipe(
  v.string('must be a number'),
  v.regex(/^\d{1,3}$/, `must be a number from 0 to ${MAX_OVERLAP_HOURS}`),
  v.transform(Number),
  v.maxValue(MAX_OVERLAP_HOURS, `must be a number from 0 to ${MAX_OVERLAP_HOURS}`),
)

const Time = v.pipe(v.string('must be a time'), v.isoTimestamp('must be a time such as 2026-11-27T08:00:00Z'))

const ProcessId = v.pipe(
  v.string('must be a number'),
  v.regex(/^[1-9]\d{0,8}$/, 'must be the id of a process'),
  v.transform(Number),
)

const Year = v.pipe(
  v.string('must be a year'),
  v.regex(/^[12]\d{3}$/, 'must be a year such as 2026'),
  v.transform(Number),
)

const KmsKeyArn = v.pipe(
  v.string('must be a string'),
  v.maxLength(2048, 'is too long'),
  v.regex(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/, 'must be the ARN of a KMS key'),
)

/** A command of an operator. */
export const Command = v.variant(
  'command',
  [
    v.strictObject({
      command: v.literal('create-tenant'),
      slug: Slug,
      name: LegalName,
      owner: Email,
      timezone: v.optional(
        v.pipe(v.string('must be a string'), v.check(isTimeZone, 'must be a time zone')),
        'America/New_York',
      ),
      currency: v.optional(
        v.pipe(v.string('must be a string'), v.regex(/^[A-Z]{3}$/, 'must be a currency code')),
        'USD',
      ),
    }),
    v.strictObject({ command: v.literal('set-status'), slug: Slug, status: Status }),
    v.strictObject({
      command: v.literal('disable-user'),
      email: Email,
      force: v.optional(v.boolean('must be true or false')),
    }),
    v.strictObject({ command: v.literal('enable-user'), email: Email }),
    v.strictObject({ command: v.literal('invite-owner'), slug: Slug, email: Email }),
    v.strictObject({ command: v.literal('resend-invite'), slug: Slug, email: Email }),
    v.strictObject({ command: v.literal('allow-invitations'), slug: Slug }),
    v.strictObject({ command: v.literal('unsuppress'), email: Email }),
    v.strictObject({ command: v.literal('renew-seal') }),
    v.strictObject({ command: v.literal('send-events'), since: v.optional(Time) }),
    v.strictObject({
      command: v.literal('end-connections'),
      login: DatabaseName,
      pid: v.optional(ProcessId),
    }),
    v.strictObject({ command: v.literal('create-partition'), year: Year }),
    v.strictObject({ command: v.literal('show-second-factor'), email: Email }),
    v.strictObject({ command: v.literal('reset-second-factor'), email: Email }),
    v.strictObject({ command: v.literal('cancel-second-factor-reset'), email: Email }),
    v.strictObject({ command: v.literal('reseal-factors') }),
    v.strictObject({ command: v.literal('expire-recovery-codes'), 'created-before': Time }),
    v.strictObject({ command: v.literal('grant-service-tenant'), role: DatabaseName, slug: Slug }),
    v.strictObject({ command: v.literal('revoke-service-tenant'), role: DatabaseName, slug: Slug }),
    v.strictObject({
      command: v.literal('create-service-key'),
      name: ServiceName,
      scope: v.optional(ServiceScopes, () => [...SERVICE_SCOPES]),
    }),
    v.strictObject({
      command: v.literal('rotate-service-key'),
      name: ServiceName,
      overlap: v.optional(OverlapHours, '24'),
    }),
    v.strictObject({ command: v.literal('revoke-service-key'), name: ServiceName }),
    v.strictObject({ command: v.literal('list-service-keys') }),
    v.strictObject({ command: v.literal('list-api-keys'), slug: Slug }),
    v.strictObject({
      command: v.literal('revoke-api-key'),
      id: v.pipe(v.string('must be a string'), v.uuid('must be the id of an API key')),
    }),
    v.strictObject({ command: v.literal('revoke-leaked-keys'), keys: LeakedKeys }),
    v.strictObject({ command: v.literal('rotate-data-key'), slug: Slug }),
    v.strictObject({ command: v.literal('rewrap'), slug: Slug, key: KmsKeyArn }),
    v.strictObject({ command: v.literal('shred'), slug: Slug }),
    v.strictObject({
      command: v.literal('sql'),
      name: v.picklist(QUERY_NAMES, `must be one of ${QUERY_NAMES.join(', ')}`),
      tenant: v.optional(Slug),
    }),
    v.strictObject({ command: v.literal('doctor') }),
    v.strictObject({
      command: v.literal('verify-restore'),
      host: v.pipe(v.string('must be a string'), v.regex(/^[A-Za-z0-9.-]{1,253}$/, 'must be the name of a host')),
      database: v.optional(DatabaseName),
    }),
  ],
  'is not a command',
)

export type Command = v.InferOutput<typeof Command>

/** The command that reads the database by a fixed statement. */
export type QueryCommand = Extract<Command, { command: 'sql' }>

/** The commands that repair a stage. They belong to no tenant. */
export type RepairCommand = Extract<
  Command,
  { command: 'renew-seal' | 'send-events' | 'end-connections' | 'create-partition' }
>

/** The commands on the second factors of users. They run in several transactions. */
const FACTOR_COMMANDS = [
  'show-second-factor',
  'reset-second-factor',
  'cancel-second-factor-reset',
  'reseal-factors',
  'expire-recovery-codes',
] as const

export type FactorCommand = Extract<Command, { command: (typeof FACTOR_COMMANDS)[number] }>

export const isFactorCommand = (command: Command): command is FactorCommand =>
  FACTOR_COMMANDS.some((name) => name === command.command)

/** The commands on a tenant's data keys. They run in several transactions. */
export type KeyCommand = Extract<Command, { command: 'rotate-data-key' | 'rewrap' | 'shred' }>

export const isKeyCommand = (command: Command): command is KeyCommand =>
  ['rotate-data-key', 'rewrap', 'shred'].includes(command.command)

/**
 * The result of a command: `done` with its output, `refused` or `invalid` with the reason. `finished: false` in the output
 * means that time ran out: the operator runs the command again.
 */
export type Outcome =
  | { readonly done: Readonly<Record<string, unknown>> }
  | { readonly refused: string }
  | { readonly invalid: string }
