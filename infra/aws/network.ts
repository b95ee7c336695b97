import { Fn } from 'aws-cdk-lib'
import {
  CfnEIP,
  FlowLogDestination,
  IpAddresses,
  Peer,
  Port,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2'
import { Construct } from 'constructs'
import { VENDOR_URLS } from '#infra/stages.ts'
import { type LogKeeping, logGroup } from './logs.ts'

// Other than HTTPS, which every function may use. URL leaves out the port of the scheme.
const VENDOR_PORTS = new Set(Object.values(VENDOR_URLS).flatMap((url) => Number(new URL(url).port) || []))

/**
 * A VPC in two availability zones. The functions' subnets reach the internet through NAT, because the cache and the vendors
 * are there; interface endpoints would only add cost (infra/history.md, 31). The database's subnets have no route out.
 */
export class Network extends Construct {
  readonly vpc: Vpc
  readonly functions: SecurityGroup
  /** For the functions that call vendors, in addition to `functions`. */
  readonly vendors: SecurityGroup
  /** The addresses that others see of the functions. */
  readonly outbound: string

  constructor(scope: Construct, id: string, props: { natGateways: number; logs: LogKeeping; cidr: string }) {
    super(scope, id)
    const { natGateways, logs, cidr } = props
    this.vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr(cidr),
      maxAzs: 2,
      natGateways,
      subnetConfiguration: [
        { name: 'public', subnetType: SubnetType.PUBLIC, cidrMask: 24, mapPublicIpOnLaunch: false },
        { name: 'functions', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 20 },
        { name: 'database', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 },
      ],
    })
    const addresses = this.vpc.node.findAll().filter((each): each is CfnEIP => each instanceof CfnEIP)
    this.outbound = Fn.join(
      ' ',
      addresses.map(({ ref }) => ref),
    )
    this.vpc.addFlowLog('FlowLog', { destination: FlowLogDestination.toCloudWatchLogs(logGroup(this, 'Flows', logs)) })
    this.functions = new SecurityGroup(this, 'Functions', {
      vpc: this.vpc,
      description: 'Functions: outbound to the database and HTTPS, no inbound',
      allowAllOutbound: false,
    })
    this.functions.addEgressRule(Peer.anyIpv4(), Port.HTTPS, 'AWS, the cache, the vendors')
    this.vendors = new SecurityGroup(this, 'Vendors', {
      vpc: this.vpc,
      description: 'Functions that call vendors: outbound to the ports of the vendors, no inbound',
      allowAllOutbound: false,
    })
    for (const port of VENDOR_PORTS) this.vendors.addEgressRule(Peer.anyIpv4(), Port.tcp(port), 'a vendor')
  }
}
