import type { TicketBytes } from '#shared/db/calls.ts'
import { entryBy, type Requirement, TenantProof } from '#shared/db/scope.ts'

/**
 * Proof of what a session check found, sealed by the database for 30 seconds (app.authenticate). Its field is private, so
 * no log contains it.
 */
export class Ticket {
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** Passes the bytes to a statement. */
  present<T>(statement: (bytes: TicketBytes) => T): T {
    return statement(this.#bytes as TicketBytes)
  }

  /** Returns the proof for the session's tenant. Its writes require the permission. */
  proof(requirement: Requirement): TenantProof {
    return new TenantProof(() => entryBy(this.#bytes, requirement))
  }
}
