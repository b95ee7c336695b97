import assert from 'node:assert/strict'
import { eventGuarantee, failedSignInGuarantee, partitionGuarantee } from './audit-guarantees.ts'
import {
  checkGuarantee,
  enterSessionGuarantee,
  leaseGuarantee,
  operatorTicketGuarantee,
  readGuarantee,
  renewalGuarantee,
  sealGuarantee,
  ticketGuarantee,
} from './gate-guarantees.ts'
import { type Guarantee, heldBy } from './guarantee.ts'
import { bounceGuarantee, enqueueGuarantee } from './job-guarantees.ts'
import { mailGuarantee } from './mail-guarantees.ts'
import { permissionsGuarantee } from './member-guarantees.ts'
import { memberListGuarantee, newInvitationGuarantee, passwordGuarantee, tokenGuarantee } from './proof-guarantees.ts'
import { sealedSecretGuarantee, serviceOpeningGuarantee } from './sealed-guarantees.ts'
import { serviceEntryGuarantee, serviceKeyGuarantee, serviceProofGuarantee } from './service-guarantees.ts'
import { endSessionsGuarantee, endUnusedGuarantee, readerGuarantee } from './session-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'
import { languageGuarantee, passwordChangeGuarantee, passwordResetGuarantee } from './user-guarantees.ts'

/** The guarantee of each SECURITY DEFINER function. */
const DEFINER_GUARANTEES: Readonly<Record<string, (world: TwoTenants, name: string) => Guarantee>> = {
  tenants_of_session: readerGuarantee,
  sessions_of_session: readerGuarantee,
  enqueue: enqueueGuarantee,
  add_event: eventGuarantee,
  collect_permissions: permissionsGuarantee,
  update_permissions: permissionsGuarantee,
  claim_events: eventGuarantee,
  end_event_leases: eventGuarantee,
  audit_failed_sign_ins: failedSignInGuarantee,
  end_sessions: endSessionsGuarantee,
  end_unused_sessions: endUnusedGuarantee,
  create_audit_partition: partitionGuarantee,
  open_vendor_secret: sealedSecretGuarantee,
  record_opening: sealedSecretGuarantee,
  record_opening_for_service: serviceOpeningGuarantee,
  open_secret_for_service: serviceOpeningGuarantee,
  renew_seal: renewalGuarantee,
  current_tenant: sealGuarantee,
  set_tenant: sealGuarantee,
  check_ticket: ticketGuarantee,
  enter_session: enterSessionGuarantee,
  authenticate: checkGuarantee,
  select_tenant: checkGuarantee,
  enter_to_read: readGuarantee,
  enter_to_write: ticketGuarantee,
  operator_ticket: operatorTicketGuarantee,
  record_bounce: bounceGuarantee,
  clear_bounces: bounceGuarantee,
  lease_ticket: leaseGuarantee,
  claim_jobs: leaseGuarantee,
  renew_lease: leaseGuarantee,
  end_lease: leaseGuarantee,
  return_job: leaseGuarantee,
  password_salt: passwordGuarantee,
  is_own_password: passwordGuarantee,
  rehash_password: passwordGuarantee,
  sign_in: passwordGuarantee,
  change_password: passwordChangeGuarantee,
  change_language: languageGuarantee,
  find_reset: passwordResetGuarantee,
  reset_password: passwordResetGuarantee,
  verify_email: tokenGuarantee,
  find_invitation: tokenGuarantee,
  accept_invitation: tokenGuarantee,
  issue_invitation: newInvitationGuarantee,
  list_members: memberListGuarantee,
  claim_mails: mailGuarantee,
  mail_of_invitation: mailGuarantee,
  mail_of_user: mailGuarantee,
  mail_of_membership: mailGuarantee,
  service_proof: serviceProofGuarantee,
  enter: serviceProofGuarantee,
  enter_as_service: serviceEntryGuarantee,
  service_of_key: serviceKeyGuarantee,
  introspect: serviceKeyGuarantee,
  changes: serviceKeyGuarantee,
}

/** The functions that identity_auth calls. */
const OF_AUTH: ReadonlySet<string> = new Set(
  (
    'authenticate tenants_of_session sessions_of_session end_sessions select_tenant password_salt is_own_password ' +
    'rehash_password sign_in change_password change_language find_reset reset_password verify_email find_invitation accept_invitation'
  ).split(' '),
)

/** The functions of the door for other services. */
const OF_SERVICES: ReadonlySet<string> = new Set(['service_proof', 'enter', 'enter_as_service'])

const holderOf = (name: string): string => {
  if (name === 'end_unused_sessions') return 'identity_gate'
  if (DEFINER_GUARANTEES[name] === serviceOpeningGuarantee) return 'identity_opener'
  if (OF_SERVICES.has(name)) return 'tenant_bound'
  if (DEFINER_GUARANTEES[name] === serviceKeyGuarantee) return 'identity_services'
  if (DEFINER_GUARANTEES[name] === mailGuarantee) return 'identity_mailer'
  return OF_AUTH.has(name) ? 'identity_auth' : 'identity_app'
}

/** Returns whether a function reads across tenants for the user of a session. */
export const isReader = (name: string): boolean => DEFINER_GUARANTEES[name] === readerGuarantee

/**
 * The promise of a SECURITY DEFINER function. An error of the function breaks it too. Requires a connection that may become
 * any role, to see what it wrote.
 */
export function definerGuarantee(world: TwoTenants, name: string): Guarantee {
  const guarantee = DEFINER_GUARANTEES[name]
  if (guarantee === undefined) throw new Error(`${name} has no guarantee: add one to DEFINER_GUARANTEES`)
  const { title, holds } = heldBy(holderOf(name), guarantee(world, name))
  return {
    title,
    holds: async (sql) => {
      await holds(sql).catch((error: unknown) => {
        throw error instanceof assert.AssertionError
          ? error
          : new assert.AssertionError({ message: `${name}: ${String(error)}` })
      })
    },
  }
}

/** The promises of all of them. */
export const definersGuarantee = (world: TwoTenants): Guarantee => ({
  title: 'guarantee 6: every function that bypasses row security reads and writes only what belongs to its caller',
  holds: async (sql) => {
    for (const name of world.definers) {
      await sql`savepoint definer`
      await definerGuarantee(world, name).holds(sql)
      await sql`rollback to savepoint definer`
    }
  },
})
