import { Duration } from 'aws-cdk-lib'
import { type IMetric, MathExpression, type Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { AlarmName } from './alarm-table.ts'

/** When an alarm goes off. ALARMS has what people are told of it. */
export interface AlarmDefinition {
  /** With several, the alarm goes off by their sum. It is several alarms where CloudWatch allows one no more metrics. */
  readonly metric: IMetric | { readonly sumOf: readonly Metric[]; readonly label: string }
  /** The alarm goes off above `over`, or below `below`. */
  readonly over?: number
  readonly below?: number
  /** Goes off when `bad` of the last `of` periods are bad. */
  readonly periods: readonly [bad: number, of: number]
  /** Whether missing data is normal, because only failures write data, or means that the source itself failed. */
  readonly missing: 'normal' | 'failure'
  readonly description: string
}

/** An alarm that ALARMS does not list does not compile. */
export type AlarmDefinitions = Readonly<Partial<Record<AlarmName, AlarmDefinition>>>

export const MINUTE = Duration.minutes(1)
export const HOUR = Duration.hours(1)
// An alarm reads at most ten metrics: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
export const MAX_METRICS_PER_ALARM = 10

/** The percentage of `part` in `whole`, or in the sum of both. 0 while `part` is below `from`. */
export const percentage = (
  part: Metric | MathExpression,
  whole: Metric,
  { from, label, of }: { from: number; label: string; of: 'whole' | 'sum' },
) =>
  new MathExpression({
    label,
    period: part.period,
    expression: `IF(FILL(part, 0) >= ${from}, 100 * FILL(part, 0) / (${of === 'sum' ? 'FILL(part, 0) + ' : ''}FILL(whole, 0)), 0)`,
    usingMetrics: { part, whole },
  })
