/** One exercise: what fails, what must happen, and the commands, which find the stage's resources by `id TYPE PREFIX`. */
interface Exercise {
  readonly name: string
  readonly title: string
  readonly expect: string
  readonly commands: readonly string[]
}

const CLUSTER = '"$(id AWS::RDS::DBCluster DatabaseCluster)"'
const WRITER = '"$(id AWS::RDS::DBInstance DatabaseClusterWriter)"'
const VAULT_KEY = '"$(id AWS::KMS::Key KeysVault)"'
const OWNER_SECRET = '"$(id AWS::SecretsManager::Secret tenantrySTAGEDatabaseClusterSecret)"'
const APP_SECRET = '"$(id AWS::SecretsManager::Secret DatabaseRoleapp)"'
const WATCH =
  "aws cloudwatch describe-alarms --alarm-name-prefix tenantry-STAGE- --state-value ALARM --query 'MetricAlarms[].AlarmName'"

/** Copies the current network and parameters to a cluster that is restored beside the current one. */
const RESTORED = [
  `group=$(aws rds describe-db-clusters --db-cluster-identifier ${CLUSTER} --query 'DBClusters[0].DBSubnetGroup' --output text)`,
  `firewall=$(aws rds describe-db-clusters --db-cluster-identifier ${CLUSTER} --query 'DBClusters[0].VpcSecurityGroups[].VpcSecurityGroupId' --output text)`,
  `parameters=$(aws rds describe-db-clusters --db-cluster-identifier ${CLUSTER} --query 'DBClusters[0].DBClusterParameterGroup' --output text)`,
]
const START_RESTORED = [
  'aws rds create-db-instance --db-instance-identifier tenantry-STAGE-rehearsal-1 --db-cluster-identifier tenantry-STAGE-rehearsal --db-instance-class db.serverless --engine aurora-postgresql',
  'aws rds wait db-instance-available --db-instance-identifier tenantry-STAGE-rehearsal-1 && date -u',
  'npm run operate -- verify-restore "$(aws rds describe-db-clusters --db-cluster-identifier tenantry-STAGE-rehearsal --query \'DBClusters[0].Endpoint\' --output text)" --stage STAGE --reason Rehearsal && date -u',
  'aws rds delete-db-instance --db-instance-identifier tenantry-STAGE-rehearsal-1',
  'aws rds delete-db-cluster --db-cluster-identifier tenantry-STAGE-rehearsal --skip-final-snapshot',
]

export const EXERCISES: readonly Exercise[] = [
  {
    name: 'failover',
    title: 'The writer of the database fails',
    expect:
      'Requests get 503 for less than a minute, and nothing acknowledged is lost. Without a reader: some minutes.',
    commands: [
      `date -u && aws rds failover-db-cluster --db-cluster-identifier ${CLUSTER}`,
      `# a stage without a reader: aws rds reboot-db-instance --db-instance-identifier ${WRITER}`,
      'until curl -sf $api/health/ready; do date -u; sleep 1; done; date -u',
      WATCH,
    ],
  },
  {
    name: 'point-in-time',
    title: 'Somebody deletes data, and it is restored as it was ten minutes ago',
    expect: 'A second cluster has the data, and the doctor finds no fault. Write down how long it took.',
    commands: [
      ...RESTORED,
      `aws rds restore-db-cluster-to-point-in-time --source-db-cluster-identifier ${CLUSTER} --db-cluster-identifier tenantry-STAGE-rehearsal --restore-to-time "$(date -u -d '10 minutes ago' +%FT%TZ)" --db-subnet-group-name "$group" --vpc-security-group-ids $firewall --db-cluster-parameter-group-name "$parameters" --serverless-v2-scaling-configuration MinCapacity=0.5,MaxCapacity=4`,
      ...START_RESTORED,
    ],
  },
  {
    name: 'backup-copy',
    title: 'The Region or the account is lost, and the database is restored from a copy',
    expect: 'In the other Region a stack with restoreFrom and vaultKeys signs users in and opens vendor secrets.',
    commands: [
      '# once, before anything is lost: the replica of the vault key, and the vault of the copies',
      `key=$(aws kms describe-key --key-id ${VAULT_KEY} --query KeyMetadata.Arn --output text)`,
      'npx cdk deploy --app \'node infra/second-region.ts\' tenantry-STAGE-second-region -c stage=STAGE -c vaultKey="$key"',
      'aws backup list-recovery-points-by-backup-vault --backup-vault-name tenantry-STAGE --region OTHER_REGION --query "sort_by(RecoveryPoints,&CreationDate)[-1].RecoveryPointArn"',
      '# cdk.json, a stage of the other Region: "restoreFrom": that ARN, "vaultKeys": the ARN of the replica',
      'AWS_REGION=OTHER_REGION npx cdk deploy tenantry-STAGE && date -u',
      '# put the replicas of pepper and mail key into the secrets of the new stack (runbook, "Move to another Region")',
    ],
  },
  {
    name: 'rotation',
    title: 'A password of the database is changed while requests run',
    expect: 'No request fails. AWSCURRENT is at another version than before, and AWSPENDING at no other than that.',
    commands: [
      `aws secretsmanager rotate-secret --secret-id ${APP_SECRET}`,
      `sleep 60; aws secretsmanager describe-secret --secret-id ${APP_SECRET} --query VersionIdsToStages`,
      `aws secretsmanager rotate-secret --secret-id ${OWNER_SECRET}`,
      'aws lambda invoke --function-name tenantry-STAGE-migrate /dev/stdout',
      WATCH,
    ],
  },
  {
    name: 'vault-key',
    title: 'Somebody disables the vault key',
    expect: 'Vendor accounts answer 503, everything else works. The alarm kms-failed goes off and recovers.',
    commands: [
      `aws kms disable-key --key-id ${VAULT_KEY} && date -u`,
      'sleep 600',
      "aws cloudwatch describe-alarms --alarm-names tenantry-STAGE-kms-failed --query 'MetricAlarms[].StateValue'",
      `aws kms enable-key --key-id ${VAULT_KEY} && date -u`,
    ],
  },
  {
    name: 'outage',
    title: 'The API cannot be reached',
    expect: 'The alarm sign-in-unreachable goes off within five minutes, and recovers by itself.',
    commands: [
      'aws lambda put-function-concurrency --function-name tenantry-STAGE-auth --reserved-concurrent-executions 0 && date -u',
      "until aws cloudwatch describe-alarms --alarm-names tenantry-STAGE-sign-in-unreachable --query 'MetricAlarms[].StateValue' | grep -q ALARM; do sleep 10; done; date -u",
      '# npx cdk deploy does not repair this. Put back the number that infra/stages.ts names:',
      'aws lambda put-function-concurrency --function-name tenantry-STAGE-auth --reserved-concurrent-executions NUMBER',
    ],
  },
]

/** The shell function that finds the name of a resource of the stage by its type and the beginning of its id. */
// As text, the CLI would query each page of resources by itself, and print None for most: https://docs.aws.amazon.com/cli/latest/userguide/cli-usage-filter.html
export const FIND = `id() { aws cloudformation list-stack-resources --stack-name tenantry-STAGE --output json \\
  --query "StackResourceSummaries[?ResourceType=='$1' && starts_with(LogicalResourceId,'$2')] | [0].PhysicalResourceId" | jq -r .; }`

/** Returns exercises as a text that a shell understands. */
export const printed = (exercises: readonly Exercise[], stage: string): string =>
  [
    `# ${stage}: run one command at a time, and write down the times.`,
    FIND,
    ...exercises.flatMap(({ name, title, expect, commands }) => [
      '',
      `## ${name}: ${title}`,
      `# Expect: ${expect}`,
      ...commands,
    ]),
  ]
    .join('\n')
    .replaceAll('STAGE', stage)
