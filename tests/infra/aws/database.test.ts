import { describe, expect, it } from 'vitest'
import { STAGES } from '#infra/stages.ts'
import { synthesized } from './synthesized.ts'
import { other, prod } from './two-stages.ts'

describe('the database', () => {
  it('restarts for maintenance only in its window, in prod days after staging, and never while it backs up', () => {
    const windows = Object.values(STAGES).map(({ database }) => database.maintenance)
    expect(windows.map((window) => window.slice(0, 3))).toEqual(['mon', 'tue', 'sun'])
    for (const [stage, { maintenance, minorUpgrades }] of [
      [prod, STAGES.prod.database],
      [other, STAGES.dev.database],
    ] as const) {
      const cluster = stage.one('AWS::RDS::DBCluster').Properties
      expect(cluster).toMatchObject({ PreferredMaintenanceWindow: maintenance, PreferredBackupWindow: '06:00-07:00' })
      expect(maintenance.slice(4, 9) > '07:00').toBe(true)
      for (const { Properties } of stage.ofType('AWS::RDS::DBInstance'))
        expect(Properties).toMatchObject({
          PreferredMaintenanceWindow: maintenance,
          AutoMinorVersionUpgrade: minorUpgrades,
        })
    }
    expect(STAGES.prod.database.minorUpgrades).toBe(false)
  })

  it('has Database Insights where its minimum capacity carries them', async () => {
    const larger = await synthesized('prod', { database: { minCapacity: 2 } })
    for (const [stage, enabled] of [
      [larger, true],
      [prod, undefined],
    ] as const) {
      const { DatabaseInsightsMode, PerformanceInsightsEnabled } = stage.one('AWS::RDS::DBCluster').Properties
      expect([DatabaseInsightsMode, PerformanceInsightsEnabled]).toEqual(['standard', enabled])
    }
  })

  it('keeps values of statements out of its logs and statistics', () => {
    expect(prod.one('AWS::RDS::DBClusterParameterGroup').Properties.Parameters).toMatchObject({
      log_statement: 'none',
      log_min_duration_statement: '-1',
      log_error_verbosity: 'terse',
      'pg_stat_statements.track_utility': '0',
    })
  })

  it('lets Postgres compile no plan: those of the session check look too expensive on purpose', () => {
    expect(prod.one('AWS::RDS::DBClusterParameterGroup').Properties.Parameters).toMatchObject({
      jit: '0',
      client_connection_check_interval: '1000',
    })
  })
})
