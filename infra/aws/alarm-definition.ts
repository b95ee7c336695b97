import { Duration } from 'aws-cdk-lib'
import { type IMetric, MathExpression, type Metric } from 'aws-cdk-lib/aws-cloudwatch'
import { chunks, sumOf } from './metrics.ts'

/** An alarm that is worth waking somebody for. */
export interface AlarmDefinition {
  readonly metric: IMetric
  /** The alarm goes off above `over`, or below `below`. */
  readonly over?: number
  readonly below?: number
  /** Goes off when `bad` of the last `of` periods are bad. */
  readonly periods: readonly [bad: number, of: number]
  /** Whether missing data is normal, because only failures write data, or means that the source itself failed. */
  readonly missing: 'normal' | 'failure'
  readonly description: string
  /** Only stops a release. It is too sensitive to wake somebody. */
  readonly ofReleases?: true
}

export type AlarmDefinitions = Readonly<Record<string, AlarmDefinition>>

export const MINUTE = Duration.minutes(1)
export const HOUR = Duration.hours(1)
// An alarm reads at most ten metrics: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
export const MAX_METRICS_PER_ALARM = 10

/** The percentage of `part` in `whole`, or in the sum of both. 0 while `part` is below `from`. */
export const percentage = (
  part: Metric,
  whole: Metric,
  { from, label, of }: { from: number; label: string; of: 'whole' | 'sum' },
) =>
  new MathExpression({
    label,
    period: part.period,
    expression: `IF(FILL(part, 0) >= ${from}, 100 * FILL(part, 0) / (${of === 'sum' ? 'FILL(part, 0) + ' : ''}FILL(whole, 0)), 0)`,
    usingMetrics: { part, whole },
  })

/** As many alarms as these metrics need. Each goes off when the sum of its metrics was above 0 for so many periods. */
export const anyOf = (name: string, parts: readonly Metric[], bad: number, label: string, description: string) =>
  Object.fromEntries(
    chunks(parts, MAX_METRICS_PER_ALARM).map((part, index): [string, AlarmDefinition] => [
      index === 0 ? name : `${name}-${index + 1}`,
      { metric: sumOf(part, label), over: 0, periods: [bad, bad], missing: 'normal', description },
    ]),
  )
