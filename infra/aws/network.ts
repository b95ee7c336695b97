import { Fn } from 'aws-cdk-lib'
import {
  CfnEIP,
  type CfnInstance,
  FlowLogDestination,
  InstanceClass,
  InstanceSize,
  InstanceType,
  IpAddresses,
  NatInstanceProviderV2,
  NatTrafficDirection,
  Peer,
  Port,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2'
import { Construct } from 'constructs'
import { type Stage, VENDOR_URLS } from '#infra/stages.ts'
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

  constructor(scope: Construct, id: string, props: { nat: Stage['nat']; logs: LogKeeping; cidr: string }) {
    super(scope, id)
    const { nat, logs, cidr } = props
    const instance = nat === 'instance' ? natInstance() : undefined
    this.vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr(cidr),
      maxAzs: 2,
      natGateways: nat === 'instance' ? 1 : nat,
      ...(instance === undefined ? {} : { natGatewayProvider: instance }),
      subnetConfiguration: [
        { name: 'public', subnetType: SubnetType.PUBLIC, cidrMask: 24, mapPublicIpOnLaunch: false },
        { name: 'functions', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 20 },
        { name: 'database', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 },
      ],
    })
    const addresses = this.vpc.node.findAll().filter((each): each is CfnEIP => each instanceof CfnEIP)
    this.outbound = Fn.join(' ', [
      ...addresses.map(({ ref }) => ref),
      ...(instance?.gatewayInstances ?? []).map(({ instancePublicIp }) => instancePublicIp),
    ])
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
    if (instance !== undefined) this.passThrough(instance)
  }

  /** Lets the instance take what the functions may send, and from nobody else. Encrypts its disk. */
  private passThrough({ securityGroup, gatewayInstances }: NatInstanceProviderV2): void {
    securityGroup.addIngressRule(this.functions, Port.HTTPS, 'HTTPS of the functions')
    for (const port of VENDOR_PORTS) securityGroup.addIngressRule(this.vendors, Port.tcp(port), 'a vendor')
    for (const { instance } of gatewayInstances)
      instance.blockDeviceMappings = [
        { deviceName: '/dev/xvda', ebs: { encrypted: true, volumeType: 'gp3' } },
      ] satisfies CfnInstance.BlockDeviceMappingProperty[]
  }
}

/** A server that passes packets on, with the newest Amazon Linux of each deployment. Its address changes when it is replaced. */
const natInstance = (): NatInstanceProviderV2 =>
  new NatInstanceProviderV2({
    instanceType: InstanceType.of(InstanceClass.T4G, InstanceSize.NANO),
    defaultAllowedTraffic: NatTrafficDirection.OUTBOUND_ONLY,
    associatePublicIpAddress: true,
  })
