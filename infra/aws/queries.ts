import { type ILogGroup, QueryDefinition, QueryString } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'

/** The log fields that queries use. */
type Field =
  | '@timestamp'
  | '@log'
  | '@message'
  | 'caller'
  | 'client_request_id'
  | 'error.code'
  | 'error.name'
  | 'integration_latency_ms'
  | 'kind'
  | 'latency_ms'
  | 'level'
  | 'message'
  | 'method'
  | 'reason'
  | 'release'
  | 'request_id'
  | 'resource'
  | 'route'
  | 'status'
  | 'tenant_id'
  | 'user_id'
  | 'vendor'

interface Query {
  /** The logs to search: of all functions, the access log, or both. */
  readonly in: 'functions' | 'access' | 'all'
  readonly fields: readonly Field[]
  readonly filter?: string
  readonly stats?: string
  readonly sort?: string
  readonly limit?: number
}

const PLACEHOLDER_ID = '00000000-0000-4000-8000-000000000000'

/** The saved queries. Replace the placeholder id before you run one. */
const QUERIES: Readonly<Record<string, Query>> = {
  'one-request': {
    in: 'all',
    fields: [
      '@timestamp',
      '@log',
      'request_id',
      'client_request_id',
      'message',
      'route',
      'status',
      'reason',
      '@message',
    ],
    filter: `request_id = "${PLACEHOLDER_ID}" or client_request_id = "${PLACEHOLDER_ID}"`,
    sort: '@timestamp asc',
  },
  'failures-of-one-user': {
    in: 'functions',
    fields: ['@timestamp', 'route', 'status', 'reason', 'error.name', 'tenant_id', 'request_id'],
    filter: `user_id = "${PLACEHOLDER_ID}" and status >= 400`,
    sort: '@timestamp desc',
    limit: 200,
  },
  'server-errors-by-route': {
    in: 'functions',
    fields: [],
    filter: 'status >= 500',
    stats: 'count(*) as failures by route, status, error.name, error.code, release',
    sort: 'failures desc',
  },
  'slowest-requests': {
    in: 'access',
    fields: ['@timestamp', 'method', 'resource', 'status', 'latency_ms', 'integration_latency_ms', 'request_id'],
    // The access log writes numbers as text. Logs Insights sorts text of digits alone as numbers:
    // https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Sort.html
    filter: 'latency_ms > 500',
    sort: 'latency_ms desc',
    limit: 100,
  },
  // A metric cannot count distinct tenants.
  'credentials-by-service': {
    in: 'functions',
    fields: [],
    filter: 'message = "opened a credential"',
    stats: 'count(*) as openings, count_distinct(tenant_id) as tenants by caller, bin(1h)',
    sort: 'tenants desc',
  },
  'vendor-failures': {
    in: 'functions',
    fields: ['@timestamp', '@log', 'message', 'vendor', 'reason', 'kind', 'error.name'],
    filter: 'ispresent(vendor) or kind = "verify-vendor" or kind = "sync-catalog"',
    sort: '@timestamp desc',
    limit: 200,
  },
}

/** Saves the queries of a stage in Logs Insights as `tenantry-STAGE/NAME`. */
export class Queries extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { stage, functions, access }: { stage: string; functions: readonly ILogGroup[]; access: readonly ILogGroup[] },
  ) {
    super(scope, id)
    const groups = { functions: [...functions], access: [...access], all: [...functions, ...access] }
    for (const [name, { in: where, fields, filter, stats, sort, limit }] of Object.entries(QUERIES)) {
      new QueryDefinition(this, name, {
        queryDefinitionName: `tenantry-${stage}/${name}`,
        logGroups: groups[where],
        queryString: new QueryString({
          ...(fields.length === 0 ? {} : { fields: [...fields] }),
          ...(filter === undefined ? {} : { filterStatements: [filter] }),
          ...(stats === undefined ? {} : { statsStatements: [stats] }),
          ...(sort === undefined ? {} : { sort }),
          ...(limit === undefined ? {} : { limit }),
        }),
      })
    }
  }
}
