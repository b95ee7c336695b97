import { FlowLogDestination, Peer, Port, SecurityGroup, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Construct } from 'constructs'
import { type LogKeeping, logGroup } from './logs.ts'

/**
 * A VPC in two availability zones. The functions' subnets reach the internet through NAT, because the cache and the vendors
 * are there; interface endpoints would only add cost (infra/decisions.md). The database's subnets have no route out.
 */
export class Network extends Construct {
  readonly vpc: Vpc
  readonly functions: SecurityGroup

  constructor(scope: Construct, id: string, { natGateways, logs }: { natGateways: number; logs: LogKeeping }) {
    super(scope, id)
    this.vpc = new Vpc(this, 'Vpc', {
      maxAzs: 2,
      natGateways,
      subnetConfiguration: [
        { name: 'public', subnetType: SubnetType.PUBLIC, cidrMask: 24, mapPublicIpOnLaunch: false },
        { name: 'functions', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 20 },
        { name: 'database', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 },
      ],
    })
    this.vpc.addFlowLog('FlowLog', { destination: FlowLogDestination.toCloudWatchLogs(logGroup(this, 'Flows', logs)) })
    this.functions = new SecurityGroup(this, 'Functions', {
      vpc: this.vpc,
      description: 'Functions: outbound to the database and HTTPS, no inbound',
      allowAllOutbound: false,
    })
    this.functions.addEgressRule(Peer.anyIpv4(), Port.HTTPS, 'AWS, the cache, the vendors')
  }
}
