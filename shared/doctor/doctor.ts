import type postgres from 'postgres'
import {
  appliedMigrations,
  deadJobs,
  type Diagnosis,
  grants,
  invalidObjects,
  isolation,
  partitions,
  powerfulLogins,
  roleTimeouts,
  serverVersion,
} from '#shared/doctor/examinations.ts'

/** The database must not serve. `diagnoses` are its faults, warnings and what was not seen. */
export class UnhealthyDatabase extends Error {
  override name = 'UnhealthyDatabase'
  readonly diagnoses: readonly Diagnosis[]

  constructor(diagnoses: readonly Diagnosis[]) {
    const faults = diagnoses.filter(({ severity }) => severity === 'fault')
    super(
      [`The database has ${faults.length} fault${faults.length === 1 ? '' : 's'}:`, ...faults.map(inOneLine)].join(
        '\n',
      ),
    )
    this.diagnoses = diagnoses
  }
}

// What PostgreSQL prints is a name that somebody chose, and may hold anything.
/** A diagnosis as a line of text. */
export const inOneLine = ({ object, fault, repair }: Diagnosis): string =>
  `${object}: ${fault}. Repair: ${repair}`.replaceAll(/\p{Cc}+/gu, ' ')

/**
 * Examines a database in one read-only transaction, which any login may open: nearly all of it is in the catalogue that
 * every login may read. `migrations` is the folder of files that ought to be applied. Sound is no fault. Rejects with the
 * server's error when the database does not answer within 30 s.
 */
export async function examine(sql: postgres.Sql, migrations: string): Promise<Diagnosis[]> {
  return sql.begin('read only', (tx) => examineWithin(tx, migrations))
}

/**
 * Throws UnhealthyDatabase when the database has a fault; else returns the warnings and what was not seen. For the last step
 * of a deployment.
 */
export async function assertHealthy(sql: postgres.Sql, migrations: string): Promise<Diagnosis[]> {
  const diagnoses = await examine(sql, migrations)
  if (diagnoses.some(({ severity }) => severity === 'fault')) throw new UnhealthyDatabase(diagnoses)
  return diagnoses
}

/** Examines what the caller's own transaction sees. Its timeouts and search path are changed until it ends. */
export async function examineWithin(tx: postgres.TransactionSql, migrations: string): Promise<Diagnosis[]> {
  // With nothing else in the path, no object of another's making is called in place of the system's.
  await tx`select set_config('statement_timeout', '30s', true), set_config('lock_timeout', '2s', true),
                  set_config('search_path', 'pg_catalog, pg_temp', true)`
  const tooOld = await serverVersion(tx)
  if (tooOld.length > 0) return tooOld
  const found = [
    ...(await isolation(tx)),
    ...(await grants(tx)),
    ...(await appliedMigrations(tx, migrations)),
    ...(await roleTimeouts(tx)),
    ...(await powerfulLogins(tx)),
    ...(await invalidObjects(tx)),
    ...(await partitions(tx)),
    ...(await deadJobs(tx)),
  ]
  const order = ['fault', 'warning', 'unseen']
  return found.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
}
