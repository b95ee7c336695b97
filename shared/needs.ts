import type { JobName } from '#shared/http/reply.ts'

/**
 * The logins of the database: the route groups', the jobs', the operators', and the one that migrates. All but the last are
 * roles `identity_NAME` of the migrations.
 */
export type DatabaseRole = (typeof SERVICE_ROLES)[number] | 'owner'

export const SERVICE_ROLES = ['app', 'worker', 'operator', 'vault'] as const

/**
 * What a function may reach beside its own code. Each is a setting in its environment and a grant of its role, and what a
 * function does not name it is not given.
 *
 *   database:ROLE   connects as that role (DATABASE_SECRET_ID)
 *   role-passwords  reads the secrets of all roles (ROLE_SECRET_IDS)
 *   cache           the rate limits' cache (CACHE_SECRET_ID); counts in the database too
 *   tokens          the pepper and the mail key (SERVICE_SECRET_ID)
 *   vault           seals and opens with the vault's key (VAULT_KEY_ID), as identity_vault (VAULT_DATABASE_SECRET_ID)
 *   mail            sends mail
 *   wake:JOB        starts a job
 */
export type Need =
  | `database:${DatabaseRole}`
  | 'role-passwords'
  | 'cache'
  | 'tokens'
  | 'vault'
  | 'mail'
  | `wake:${JobName}`

/** The role that a function with these needs connects as; null when it does not connect. Throws when there are two. */
export function databaseRole(needs: readonly Need[]): DatabaseRole | null {
  const [role, second] = ([...SERVICE_ROLES, 'owner'] as const).filter((name) => needs.includes(`database:${name}`))
  if (second !== undefined) throw new Error('a function connects as one role')
  return role ?? null
}

/** What a function was given for a need. Throws for a need that it does not name. */
export function given<Part>(part: Part | null, need: Need): Part {
  if (part === null) throw new Error(`This function does not name ${need} among its needs`)
  return part
}
