import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib'
import {
  CfnOIDCProvider,
  Effect,
  ManagedPolicy,
  PolicyStatement,
  Role,
  WebIdentityPrincipal,
} from 'aws-cdk-lib/aws-iam'
import type { Construct } from 'constructs'

const GITHUB = 'token.actions.githubusercontent.com'
// The roles of `cdk bootstrap`, by its default qualifier.
const BOOTSTRAP = 'cdk-hnb659fds'
// All aliases of a release move in about 25 minutes, and a deployment that is rolled back moves them twice.
const SESSION = Duration.hours(2)

/** The GitHub environment of the jobs that look at a stage without an approval. */
export const watchEnvironment = (stage: string): string => `${stage}-watch`

export interface PipelineProps extends StackProps {
  readonly stage: string
  /** `OWNER/NAME` on GitHub. */
  readonly repository: string
  /** The account has GitHub's identity provider already: another stage of it, or another repository, made it. */
  readonly hasProvider: boolean
}

/**
 * What GitHub Actions may do in the account of a stage, without a key: two roles for the jobs of this repository. Each is bound to a GitHub
 * environment, whose rules decide who approves a job and from which branch it runs.
 */
export class Pipeline extends Stack {
  constructor(scope: Construct, id: string, { stage, repository, hasProvider, ...props }: PipelineProps) {
    super(scope, id, { ...props, description: `The roles of GitHub Actions for the stage ${stage}` })
    const { partition, account, region } = this
    const provider = hasProvider
      ? `arn:${partition}:iam::${account}:oidc-provider/${GITHUB}`
      : new CfnOIDCProvider(this, 'GitHub', { url: `https://${GITHUB}`, clientIdList: ['sts.amazonaws.com'] }).attrArn
    const role = (name: string, environment: string, description: string, session: Duration) => {
      const made = new Role(this, name, {
        description,
        maxSessionDuration: session,
        assumedBy: new WebIdentityPrincipal(provider, {
          StringEquals: {
            [`${GITHUB}:aud`]: 'sts.amazonaws.com',
            [`${GITHUB}:sub`]: `repo:${repository}:environment:${environment}`,
          },
        }),
      })
      new CfnOutput(this, `${name}Role`, { value: made.roleArn })
      return made
    }
    const stack = `arn:${partition}:cloudformation:${region}:${account}:stack/tenantry-${stage}/*`

    const deploy = role('Deploy', stage, `Deploys tenantry-${stage}`, SESSION)
    // The CDK makes and executes the change set with the roles of its bootstrap. CloudFormation has a role of its own for the resources.
    deploy.addToPolicy(
      new PolicyStatement({
        actions: ['sts:AssumeRole'],
        resources: ['deploy', 'file-publishing'].map(
          (name) => `arn:${partition}:iam::${account}:role/${BOOTSTRAP}-${name}-role-${account}-${region}`,
        ),
      }),
    )
    deploy.addToPolicy(
      new PolicyStatement({
        actions: ['cloudformation:DescribeChangeSet', 'cloudformation:GetStackPolicy', 'cloudformation:SetStackPolicy'],
        resources: [stack],
      }),
    )

    const watch = role(
      'Watch',
      watchEnvironment(stage),
      `Compares tenantry-${stage} with its template`,
      Duration.hours(1),
    )
    // CloudFormation reads each resource with the rights of who asks for the drift:
    // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html
    watch.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName('ReadOnlyAccess'))
    watch.addToPolicy(
      new PolicyStatement({
        actions: ['cloudformation:DetectStackDrift', 'cloudformation:DetectStackResourceDrift'],
        resources: [stack],
      }),
    )
    // It reads how things are set, and nothing of what they hold.
    watch.addToPolicy(new PolicyStatement({ effect: Effect.DENY, actions: CONTENTS, resources: ['*'] }))
  }
}

const CONTENTS = [
  'kms:Decrypt',
  'logs:FilterLogEvents',
  'logs:GetLogEvents',
  'logs:GetLogRecord',
  'logs:GetQueryResults',
  'logs:StartLiveTail',
  'logs:StartQuery',
  'rds:DownloadDBLogFilePortion',
  's3:GetObject',
  's3:GetObjectVersion',
  'secretsmanager:GetSecretValue',
  'sqs:ReceiveMessage',
  'ssm:GetParameterHistory',
]
