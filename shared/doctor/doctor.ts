import type postgres from 'postgres'
import type { Diagnosis } from '#shared/doctor/diagnosis.ts'
import {
  appliedMigrations,
  deadLetteredJobs,
  grants,
  invalidObjects,
  isolation,
  partitions,
  rolePermissions,
  serverVersion,
} from '#shared/doctor/examinations.ts'
import {
  databasePrivileges,
  powerfulLogins,
  roleSettings,
  revocationPower,
  serviceSetOption,
  serviceTimeouts,
} from '#shared/doctor/role-examinations.ts'
import { changedDefinitions } from '#shared/doctor/definitions.ts'
import { functionComments } from '#shared/doctor/functions.ts'
import { secondFactors } from '#shared/doctor/second-factors.ts'
import { closedFunctions, guardSettings, weakSeal } from '#shared/doctor/server.ts'
import { serviceStatistics } from '#shared/doctor/service-statistics.ts'

/** The database has a fault and must not serve. `diagnoses` includes warnings and unseen checks. */
export class UnhealthyDatabase extends Error {
  override name = 'UnhealthyDatabase'
  readonly diagnoses: readonly Diagnosis[]

  constructor(diagnoses: readonly Diagnosis[]) {
    const faults = diagnoses.filter(({ severity }) => severity === 'fault')
    const title = `The database has ${faults.length} fault${faults.length === 1 ? '' : 's'}:`
    super([title, ...faults.map(inOneLine)].join('\n'))
    this.diagnoses = diagnoses
  }
}

/** Returns a diagnosis as one line. Replaces control characters, because names in a database may contain any. */
export const inOneLine = ({ object, fault, repair }: Diagnosis): string =>
  `${object}: ${fault}. Repair: ${repair}`.replaceAll(/\p{Cc}+/gu, ' ')

/** Returns a line for each diagnosis, and one with their numbers. */
export function report(diagnoses: readonly Diagnosis[]): string[] {
  const count = (wanted: Diagnosis['severity']) => diagnoses.filter(({ severity }) => severity === wanted).length
  return [
    ...diagnoses.map((diagnosis) => `${diagnosis.severity.toUpperCase().padEnd(7)} ${inOneLine(diagnosis)}`),
    `Faults: ${count('fault')}. Warnings: ${count('warning')}. Unseen: ${count('unseen')}.`,
  ]
}

/**
 * Examines a database in one read-only transaction. Any login may call it: nearly everything is in the catalogue. Reports
 * each file of the folder `migrations` that is not applied. In a database that is ahead of them it examines only the isolation
 * of the tenants. Rejects with the server's error after 30 s.
 */
export async function examine(sql: postgres.Sql, migrations: string): Promise<Diagnosis[]> {
  return sql.begin('read only', (tx) => examineWithin(tx, migrations))
}

/** Runs last in a deployment. Returns the warnings and unseen checks. Throws UnhealthyDatabase for a fault. */
export async function assertHealthy(sql: postgres.Sql, migrations: string): Promise<Diagnosis[]> {
  const diagnoses = await examine(sql, migrations)
  if (diagnoses.some(({ severity }) => severity === 'fault')) throw new UnhealthyDatabase(diagnoses)
  return diagnoses
}

/** Examines a database within a transaction. Changes the transaction's timeouts and search path. */
export async function examineWithin(tx: postgres.TransactionSql, migrations: string): Promise<Diagnosis[]> {
  // The search path has only system schemas, so that no function of another login replaces a system function.
  await tx`select set_config('statement_timeout', '30s', true), set_config('lock_timeout', '2s', true),
                  set_config('search_path', 'pg_catalog, pg_temp', true)`
  const tooOld = await serverVersion(tx)
  if (tooOld.length > 0) return tooOld
  const { ahead, found: applied } = await appliedMigrations(tx, migrations)
  const found = [...(await isolation(tx, { ahead })), ...applied]
  // The newer release may grant and set more. This one cannot judge it.
  if (!ahead) {
    found.push(
      ...(await changedDefinitions(tx)),
      ...(await functionComments(tx)),
      ...(await grants(tx)),
      ...(await roleSettings(tx)),
      ...(await databasePrivileges(tx)),
      ...(await guardSettings(tx)),
      ...(await closedFunctions(tx)),
      ...(await weakSeal(tx)),
      ...(await powerfulLogins(tx)),
      ...(await serviceTimeouts(tx)),
      ...(await serviceSetOption(tx)),
      ...(await serviceStatistics(tx)),
      ...(await revocationPower(tx)),
      ...(await invalidObjects(tx)),
      ...(await partitions(tx)),
      ...(await rolePermissions(tx)),
      ...(await secondFactors(tx)),
      ...(await deadLetteredJobs(tx)),
    )
  }
  const order = ['fault', 'warning', 'unseen']
  return found.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
}
