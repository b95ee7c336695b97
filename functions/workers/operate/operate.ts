import { randomUUID } from 'node:crypto'
import type { AuditEntry } from '#shared/audit/record-audit.ts'
import type { Sql } from '#shared/db/connect.ts'
import { withoutVeto } from '#shared/db/without-veto.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { mayBecome } from '#shared/identity/tenant.ts'
import { mailToken, newNonce } from '#shared/identity/token.ts'
import { KeyServiceUnavailable } from '#shared/vault/key-service.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { operateApiKeys } from './api-keys.ts'
import type { Command, FactorCommand, KeyCommand, Outcome } from './commands.ts'
import { type KeyWork, rewrapDataKeys, rotateDataKey, shredTenant } from './data-keys.ts'
import { type Instruction, recordCommand } from './instruction.ts'
import * as queries from './queries.ts'
import { Refused } from './refused.ts'
import { repair } from './repairs.ts'
import { operateServiceKeys } from './service-keys.ts'

type Runtime = RuntimeFor<'database:operator' | 'pepper' | 'mail-key'>

/** The commands that each write in one transaction. */
export type TenantCommand = Exclude<
  Command,
  KeyCommand | FactorCommand | { command: 'sql' | 'doctor' | 'verify-restore' }
>
type Of<Name extends Command['command']> = Extract<Command, { command: Name }>

/** The commands that take access from somebody. */
const REVOKING = new Set<Command['command']>([
  'set-status',
  'disable-user',
  'revoke-service-tenant',
  'revoke-service-key',
  'revoke-api-key',
  'revoke-leaked-keys',
])

/**
 * Runs an operator's command, its audit entries and its mail job in one transaction. A refusal changes nothing.
 */
export async function operate(runtime: Runtime, command: TenantCommand, instruction: Instruction): Promise<Outcome> {
  try {
    const run = () => runtime.database.write((sql) => runCommand(runtime, sql, command, instruction))
    return { done: await (REVOKING.has(command.command) ? withoutVeto(runtime.database, run) : run()) }
  } catch (error) {
    if (error instanceof Refused) return { refused: error.message }
    throw error
  }
}

/**
 * Runs a command on a tenant's data keys. Each step commits its own transaction, so an interrupted command resumes when
 * the operator runs it again. A failure of KMS refuses the command.
 */
export async function operateKeys(
  runtime: Runtime,
  command: KeyCommand,
  work: Omit<KeyWork, 'tenantId' | 'proof'>,
): Promise<Outcome> {
  const tenant = await queries.findTenant(runtime.database.sql, command.slug)
  if (tenant === null) return { refused: `There is no tenant ${command.slug}` }
  const proof = queries.proofOfOperator(runtime.database.sql, tenant.id, reasonOf(work))
  try {
    const result = await runKeyCommand(command, { ...work, tenantId: tenant.id, proof })
    if (result === null) return { refused: `The tenant ${command.slug} has no data key` }
    return { done: { tenant_id: tenant.id, slug: tenant.slug, ...result } }
  } catch (error) {
    if (error instanceof KeyServiceUnavailable)
      return { refused: 'KMS failed or refused. Nothing was lost. Run the command again' }
    throw error
  }
}

/** The reason that the server's log keeps. */
const reasonOf = ({ operator, reason, requestId }: Instruction): string => `${operator}, ${requestId}: ${reason}`

function runKeyCommand(command: KeyCommand, work: KeyWork): Promise<Record<string, unknown> | null> {
  switch (command.command) {
    case 'rotate-data-key':
      return rotateDataKey(work)
    case 'rewrap':
      return rewrapDataKeys(work, command.key)
    case 'shred':
      return shredTenant(work)
  }
}

async function runCommand(
  runtime: Runtime,
  sql: Sql,
  command: TenantCommand,
  instruction: Instruction,
): Promise<Record<string, unknown>> {
  const audit: Audit = (tenantId, entry) => recordCommand(sql, tenantId, instruction, entry)
  if (REVOKING.has(command.command)) await queries.markRevocation(sql)
  const enter: Enter = (tenantId) => queries.proofOfOperator(sql, tenantId, reasonOf(instruction)).enter(sql)
  switch (command.command) {
    case 'create-tenant':
      return createTenant(runtime, sql, command, { audit, enter })
    case 'set-status':
      return setStatus(sql, command, { audit, enter })
    case 'disable-user':
    case 'enable-user':
      return switchUser(sql, command, { audit, enter })
    case 'invite-owner':
      return inviteOwner(runtime, sql, command, { audit, enter })
    case 'resend-invite':
      return resendInvite(runtime, sql, command, { audit, enter })
    case 'allow-invitations':
      return allowInvitations(sql, command, { audit, enter })
    case 'unsuppress':
      return clearBounces(sql, command, { audit, enter })
    case 'renew-seal':
    case 'send-events':
    case 'end-connections':
    case 'create-partition':
      return repair(sql, command, instruction)
    case 'grant-service-tenant':
      return grantServiceTenant(sql, command, { audit, enter })
    case 'revoke-service-tenant':
      return revokeServiceTenant(sql, command, { audit, enter })
    case 'create-service-key':
    case 'rotate-service-key':
    case 'revoke-service-key':
    case 'list-service-keys':
      return operateServiceKeys(runtime, sql, command, instruction)
    case 'list-api-keys':
    case 'revoke-api-key':
    case 'revoke-leaked-keys':
      return operateApiKeys(runtime, sql, command, instruction)
  }
}

/** Lets a tenant invite people again, after too many of its invitations came back. Those no longer count. */
async function allowInvitations(sql: Sql, { slug }: Of<'allow-invitations'>, { audit, enter }: Acts) {
  const { tenant, scoped } = await lockTenant(sql, slug, enter)
  const allowed = await queries.allowInvitations(scoped, tenant.id)
  if (allowed) await audit(tenant.id, { action: 'tenant.invitations_allowed', targetId: tenant.id })
  return { tenant_id: tenant.id, slug: tenant.slug, allowed }
}

/** Lets an address get mail again. Requires that SES has it no longer on its list. */
async function clearBounces(sql: Sql, { email }: Of<'unsuppress'>, { audit, enter }: Acts) {
  const cleared = await queries.clearBounces(sql, email)
  for (const { tenantId, type, id } of cleared) {
    if (tenantId === null) continue
    await enter(tenantId)
    await audit(tenantId, { action: `${type}.bounce_cleared`, targetId: id })
  }
  const idsOf = (wanted: string) => new Set(cleared.filter(({ type }) => type === wanted).map(({ id }) => id)).size
  return { email, invitations: idsOf('invitation'), users: idsOf('user') }
}

/** Lets a role of another service enter a tenant for its background work. */
async function grantServiceTenant(sql: Sql, { role, slug }: Of<'grant-service-tenant'>, { audit, enter }: Acts) {
  if (!(await queries.isServiceLogin(sql, role)))
    throw new Refused(`There is no login ${role} that inherits from tenant_bound`)
  const { tenant, scoped } = await lockOpenTenant(sql, slug, enter)
  const granted = await queries.grantServiceTenant(scoped, tenant.id, role)
  if (granted) await audit(tenant.id, { action: 'service.granted', targetId: null, after: { role } })
  return { tenant_id: tenant.id, slug: tenant.slug, role, granted }
}

/** Waits for the work of the service in the tenant. Later work is refused. */
async function revokeServiceTenant(sql: Sql, { role, slug }: Of<'revoke-service-tenant'>, { audit, enter }: Acts) {
  const { tenant, scoped } = await lockTenant(sql, slug, enter)
  const revoked = await queries.revokeServiceTenant(scoped, tenant.id, role)
  if (revoked) await audit(tenant.id, { action: 'service.revoked', targetId: null, before: { role } })
  return { tenant_id: tenant.id, slug: tenant.slug, role, revoked }
}

type Audit = (tenantId: string, entry: AuditEntry) => Promise<void>
type Enter = (tenantId: string) => Promise<TenantTransaction>

/** How a command acts in a tenant. */
interface Acts {
  readonly audit: Audit
  readonly enter: Enter
}

/** Enters the tenant with this slug and locks its row. */
async function lockTenant(sql: Sql, slug: string, enter: Enter) {
  const found = await queries.findTenant(sql, slug)
  if (found === null) throw new Refused(`There is no tenant ${slug}`)
  const scoped = await enter(found.id)
  const tenant = await queries.lockTenant(scoped, found.id)
  if (tenant === null) throw new Refused(`There is no tenant ${slug}`)
  return { tenant, scoped }
}

async function createTenant(runtime: Runtime, sql: Sql, command: Of<'create-tenant'>, { audit, enter }: Acts) {
  const id = randomUUID()
  const scoped = await enter(id)
  if (!(await queries.insertTenant(scoped, { id, ...command }))) throw new Refused(`The slug ${command.slug} is taken`)
  const owner = await queries.findUser(sql, command.owner)
  const after = { slug: command.slug, legal_name: command.name, status: 'trial' }
  await audit(id, { action: 'tenant.created', targetId: id, after })
  const invitation = await invite(runtime, scoped, { tenantId: id, email: command.owner, user: owner }, audit)
  return { tenant_id: id, slug: command.slug, status: 'trial', invitation_id: invitation, owner: command.owner }
}

/** Invites an owner into a tenant whose owners cannot sign in. */
async function inviteOwner(runtime: Runtime, sql: Sql, { slug, email }: Of<'invite-owner'>, { audit, enter }: Acts) {
  const { tenant, scoped } = await lockOpenTenant(sql, slug, enter)
  if (await queries.hasOwner(scoped, tenant.id))
    throw new Refused(`The tenant ${slug} has an owner who can sign in and invite others`)
  const user = await queries.findUser(sql, email)
  const invitation = await invite(runtime, scoped, { tenantId: tenant.id, email, user }, audit)
  return { tenant_id: tenant.id, slug: tenant.slug, invitation_id: invitation, owner: email }
}

/** Invites an owner, with the audit entry and the mail. Returns the id of the invitation. */
async function invite(
  runtime: Runtime,
  sql: TenantTransaction,
  { tenantId, email, user }: { tenantId: string; email: string; user: queries.FoundUser | null },
  audit: Audit,
): Promise<string> {
  if (user !== null && user.disabled_at !== null) throw new Refused(`The user ${email} is disabled`)
  const nonce = newNonce()
  const id = await queries.storeInvitation(sql, {
    email,
    tokenHash: hashToken(runtime.pepper, mailToken(runtime.mailKey, 'invite', nonce)),
    ttlSeconds: runtime.config.invite.ttlSeconds,
  })
  await enqueue(sql, 'mail', { template: 'invitation', invitation_id: id, nonce })
  await audit(tenantId, { action: 'invitation.created', targetId: id, after: { email, role: 'owner' } })
  return id
}

async function lockOpenTenant(sql: Sql, slug: string, enter: Enter) {
  const locked = await lockTenant(sql, slug, enter)
  if (!locked.tenant.open) throw new Refused(`The tenant ${slug} is ${locked.tenant.status}`)
  return locked
}

async function setStatus(sql: Sql, { slug, status }: Of<'set-status'>, { audit, enter }: Acts) {
  const { tenant, scoped } = await lockTenant(sql, slug, enter)
  const { id, status: before } = tenant
  if (!mayBecome(before, status)) throw new Refused(`The tenant is ${before} and cannot become ${status}`)
  const open = await queries.setStatus(scoped, id, status)
  const ended = open ? 0 : await queries.endTenantSessions(scoped, id)
  if (!open) await queries.awaitKeys(scoped, id)
  if (!open) await queries.awaitServices(scoped, id)
  await audit(id, {
    action: 'tenant.status_changed',
    targetId: id,
    before: { status: before },
    after: { status },
  })
  return { tenant_id: id, slug: tenant.slug, status, sessions_revoked: ended }
}

async function switchUser(sql: Sql, command: Of<'disable-user'> | Of<'enable-user'>, { audit, enter }: Acts) {
  const user = await queries.findUser(sql, command.email)
  if (user === null) throw new Refused('There is no user with this email')
  const disable = command.command === 'disable-user'
  if ((user.disabled_at !== null) === disable) return { user_id: user.id, disabled: disable, sessions_revoked: 0 }
  const ownerless = disable ? await queries.lockLosingTenants(sql, user.id, enter) : []
  if (ownerless.length > 0 && !('force' in command && command.force === true)) {
    throw new Refused(
      `No other owner could sign in to ${ownerless.join(', ')}. Use --force to disable the user, then invite-owner`,
    )
  }
  const ended = disable ? await queries.disableUser(sql, user.id) : 0
  if (!disable) await queries.enableUser(sql, user.id)
  for (const tenantId of await queries.tenantsOf(sql, user.id)) {
    await enter(tenantId)
    const action = disable ? 'user.disabled' : 'user.enabled'
    await audit(tenantId, { action, targetId: user.id })
  }
  return {
    user_id: user.id,
    disabled: disable,
    sessions_revoked: ended,
    ...(ownerless.length > 0 ? { tenants_without_owner: ownerless } : {}),
  }
}

async function resendInvite(runtime: Runtime, sql: Sql, { slug, email }: Of<'resend-invite'>, { audit, enter }: Acts) {
  const { tenant, scoped } = await lockOpenTenant(sql, slug, enter)
  const nonce = newNonce()
  const id = await queries.renewInvitation(scoped, {
    email,
    tokenHash: hashToken(runtime.pepper, mailToken(runtime.mailKey, 'invite', nonce)),
    ttlSeconds: runtime.config.invite.ttlSeconds,
  })
  if (id === null) throw new Refused('There is no open invitation for this email')
  await enqueue(scoped, 'mail', { template: 'invitation', invitation_id: id, nonce })
  await audit(tenant.id, { action: 'invitation.resent', targetId: id })
  return { tenant_id: tenant.id, invitation_id: id, email }
}
