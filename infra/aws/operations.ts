import { Stack } from 'aws-cdk-lib'
import { CfnBudget } from 'aws-cdk-lib/aws-budgets'
import { DatabaseProxy } from 'aws-cdk-lib/aws-rds'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { ConfigurationSet } from 'aws-cdk-lib/aws-ses'
import { Construct, type IConstruct } from 'constructs'
import type { Stage } from '#infra/stages.ts'
import { Alarms } from './alarms.ts'
import type { Api } from './api.ts'
import { Dashboard } from './dashboard.ts'
import type { Database } from './database.ts'
import type { TenantryFunction } from './function.ts'
import type { Events } from './events.ts'
import type { Workers } from './workers.ts'
import type { Keys } from './keys.ts'
import type { Mail } from './mail.ts'
import type { Watched } from './metrics.ts'
import { Queries } from './queries.ts'

/** The alarms, the dashboard and the saved queries of a stage. */
export class Operations extends Construct {
  readonly alarms: Alarms

  constructor(
    scope: Construct,
    id: string,
    props: {
      stage: string
      config: Stage
      /** Whether the front end has a public address, so that the probe opens its pages. */
      probesPages: boolean
      /** Receives the alarms. Without it, subscribe to the topic by hand. */
      alarmEmail: string | undefined
      certificates: readonly string[]
      backups: Watched['backups']
      keys: Keys
      api: Api
      webApi: Api
      groups: readonly TenantryFunction[]
      workers: Workers
      database: Database
      mail: Mail
      events: Events
    },
  ) {
    super(scope, id)
    const { stage, config, probesPages, alarmEmail, certificates, backups } = props
    const { keys, api, webApi, groups, workers, database, mail, events } = props
    const watched: Watched = {
      stage,
      api,
      webApi,
      groups,
      workers,
      database,
      events,
      proxy: below(database, DatabaseProxy)[0] ?? null,
      configurationSetName: one(mail, ConfigurationSet).configurationSetName,
      certificates,
      backups,
      config: { ...config.database, canary: config.canary, probesPages, firewall: config.firewall !== null },
    }
    this.alarms = new Alarms(this, 'Alarms', {
      watched,
      key: keys.service,
      vaultKey: keys.vault,
      email: alarmEmail,
    })
    if (alarmEmail !== undefined) budget(this, stage, config.monthlyBudgetUsd, alarmEmail)
    new Dashboard(this, 'Dashboard', watched)
    new Queries(this, 'Queries', {
      stage,
      functions: [...groups, ...workers.functions].map(({ function: lambda }) => lambda.logGroup),
      access: [api, webApi].map(({ node }) => one(node.findChild('Access'), LogGroup)),
    })
  }
}

/** Returns the constructs of a class below another construct. */
const below = <Made extends IConstruct>(scope: IConstruct, kind: new (...args: never[]) => Made): Made[] =>
  scope.node.findAll().filter((each): each is Made => each instanceof kind)

function one<Made extends IConstruct>(scope: IConstruct, kind: new (...args: never[]) => Made): Made {
  const [found] = below(scope, kind)
  if (found === undefined) throw new Error(`${scope.node.path} has no ${kind.name}`)
  return found
}

/** Mails when the account's costs of a month exceed the budget, or will at the present rate. */
function budget(scope: Construct, stage: string, amount: number, address: string): void {
  new CfnBudget(scope, 'Budget', {
    budget: {
      // A name is taken in the whole account, and not in one Region.
      budgetName: `tenantry-${stage}-${Stack.of(scope).region}`,
      budgetType: 'COST',
      timeUnit: 'MONTHLY',
      budgetLimit: { amount, unit: 'USD' },
    },
    notificationsWithSubscribers: ['ACTUAL', 'FORECASTED'].map((notificationType) => ({
      notification: {
        notificationType,
        comparisonOperator: 'GREATER_THAN',
        threshold: 100,
        thresholdType: 'PERCENTAGE',
      },
      subscribers: [{ subscriptionType: 'EMAIL', address }],
    })),
  })
}
