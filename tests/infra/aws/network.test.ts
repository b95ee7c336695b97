import { describe, expect, it } from 'vitest'
import { VENDOR_URLS } from '#infra/stages.ts'
import { databaseRole } from '#shared/base/needs.ts'
import { type Synthesized, synthesized } from './synthesized.ts'
import { declared, functionsOf, other, prod } from './two-stages.ts'

describe('the network', () => {
  it('uses the zones of cdk.json where it names them', () => {
    const named = (stage: Synthesized) =>
      new Set(stage.ofType('AWS::EC2::Subnet').map(({ Properties }) => JSON.stringify(Properties.AvailabilityZone)))
    expect([...named(other)].toSorted()).toEqual(['"us-east-1b"', '"us-east-1d"'])
    expect([...named(prod)].every((zone) => zone.includes('Fn::GetAZs'))).toBe(true)
  })

  it('accepts no inbound connection from outside', () => {
    for (const stage of [prod, other]) {
      for (const { Properties } of stage.ofType('AWS::RDS::DBInstance'))
        expect(Properties.PubliclyAccessible).toBe(false)
      for (const { Properties } of stage.ofType('AWS::EC2::SecurityGroup'))
        expect(Properties.SecurityGroupIngress ?? []).toEqual([])
      for (const { Properties } of stage.ofType('AWS::EC2::SecurityGroupIngress'))
        expect(Properties.SourceSecurityGroupId, JSON.stringify(Properties)).toBeDefined()
      for (const { Properties } of stage.ofType('AWS::EC2::Subnet')) expect(Properties.MapPublicIpOnLaunch).toBe(false)
      expect(stage.ofType('AWS::Lambda::Url')).toEqual([])
    }
  })

  it('has those functions alone that connect to the database', () => {
    for (const [name, { Properties }] of functionsOf(prod, 'prod')) {
      const { needs = [] } = declared.get(name) ?? {}
      const connects = databaseRole(needs) !== null || needs.includes('password-rotation')
      expect(Properties.VpcConfig !== undefined, name).toBe(connects)
    }
    expect(functionsOf(prod, 'prod').get('web')?.Properties.VpcConfig).toBeUndefined()
  })

  it('has the addresses that cdk.json names, and tells its own to others', async () => {
    const moved = await synthesized('dev', { addresses: { cidr: '10.7.0.0/16' } })
    expect(moved.one('AWS::EC2::VPC').Properties.CidrBlock).toBe('10.7.0.0/16')
    expect(JSON.stringify(prod.outputs.get('OutboundAddresses')).match(/EIP/g)).toHaveLength(2)
  })

  it('lets only the functions through the server of dev that stands in for a NAT gateway, and only to HTTPS and the vendors', async () => {
    const dev = await synthesized('dev')
    expect(dev.ofType('AWS::EC2::NatGateway')).toEqual([])
    const { BlockDeviceMappings } = dev.one('AWS::EC2::Instance').Properties
    expect(BlockDeviceMappings).toMatchObject([{ Ebs: { Encrypted: true } }])
    const inbound = dev
      .ofType('AWS::EC2::SecurityGroupIngress')
      .map(({ Properties }) => [
        dev.named(Properties.GroupId),
        dev.named(Properties.SourceSecurityGroupId),
        Properties.FromPort,
        Properties.ToPort,
      ])
      .filter(([group]) => group !== 'DatabaseSecurityGroup')
    expect(inbound).toEqual([
      ['NetworkVpcNatSecurityGroup', 'NetworkFunctions', 443, 443],
      ['NetworkVpcNatSecurityGroup', 'NetworkVendors', 8080, 8080],
    ])
  })

  it('lets functions connect only to the database, to HTTPS, and with the vault to the ports of the vendors', () => {
    const vendorPorts = Object.values(VENDOR_URLS).map((url) => Number(new URL(url).port || 443))
    expect(vendorPorts).toContain(8080)
    for (const [name, { Properties }] of functionsOf(prod, 'prod')) {
      if (Properties.VpcConfig === undefined) continue
      const rules = Properties.VpcConfig.SecurityGroupIds.flatMap(
        (id: unknown) => prod.referred(id).Properties.SecurityGroupEgress,
      )
      const ports = rules.map(({ IpProtocol, FromPort, ToPort }: any) => [IpProtocol, FromPort, ToPort])
      const expected = new Set([443, ...(declared.get(name)?.needs.includes('vault') ? vendorPorts : [])])
      expect(ports, name).toEqual([...expected].map((port) => ['tcp', port, port]))
    }
    const more = prod.ofType('AWS::EC2::SecurityGroupEgress')
    expect(more.map(({ Properties }) => prod.named(Properties.DestinationSecurityGroupId))).toEqual([
      'DatabaseSecurityGroup',
    ])
  })

  it('requires TLS for every connection to the database', () => {
    for (const stage of [prod, other]) {
      const parameters = stage.one('AWS::RDS::DBClusterParameterGroup').Properties.Parameters
      expect(parameters['rds.force_ssl']).toBe('1')
    }
    expect(other.one('AWS::RDS::DBProxy').Properties.RequireTLS).toBe(true)
  })

  it('connects every function except the migrations through the proxy, when the stage has one', () => {
    for (const [name, { Properties }] of functionsOf(other, 'dev')) {
      const { DATABASE_SECRET_ID, DATABASE_HOST, DATABASE_PREPARE } = Properties.Environment.Variables
      const proxied = DATABASE_SECRET_ID !== undefined && name !== 'migrate'
      expect([DATABASE_HOST !== undefined, DATABASE_PREPARE], name).toEqual([proxied, proxied ? 'false' : undefined])
    }
  })
})
