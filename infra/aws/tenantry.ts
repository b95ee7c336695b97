import { CfnOutput, Fn, Stack, type StackProps } from 'aws-cdk-lib'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import type { Construct } from 'constructs'
import { gatewayResponse, INTEGRATION_TIMEOUT_MS, pageResponse, COMPRESSION_FROM_BYTES } from '#infra/gateway.ts'
import type { DeployedFrontEnd, DeployedGroup, DeployedWorker } from '#infra/route-groups.ts'
import { stageParameter } from '#infra/stage-parameters.ts'
import type { Stage } from '#infra/stages.ts'
import { parseConfig } from '#shared/base/config.ts'
import { type Addresses, platformSettings } from './addresses.ts'
import { ownSettings } from './own-settings.ts'
import { acknowledge } from './acknowledged.ts'
import { Api, groupRoutes, openForms, pageRoutes } from './api.ts'
import { Database } from './database.ts'
import { Events } from './events.ts'
import { Firewall, isAnyOf, isApiSignIn } from './firewall.ts'
import { type FunctionContext, TenantryFunction } from './function.ts'
import { Workers } from './workers.ts'
import { Keys } from './keys.ts'
import { logGroup, type LogKeeping, logOtherFunctions } from './logs.ts'
import { Mail } from './mail.ts'
import { Network } from './network.ts'
import { Operations } from './operations.ts'
import { Recovery } from './recovery.ts'
import { Release } from './release.ts'
import { Secrets } from './secrets.ts'
import { Session } from './session.ts'

const PROBE_WORKER = 'probe-sign-in'
const AUTHORIZE_WORKER = 'authorize'
const OPEN_CREDENTIAL_WORKER = 'open-credential'
const ROTATION_WORKER = 'rotate-password'

/** Everything a stage is built from. */
export interface TenantryProps extends StackProps {
  readonly stage: string
  /** The commit that it is made from. */
  readonly release: string
  readonly config: Stage
  readonly addresses: Addresses
  readonly groups: readonly DeployedGroup[]
  readonly workers: readonly DeployedWorker[]
  readonly frontEnd: DeployedFrontEnd
}

/** One stage of the service: all of its AWS resources, in one stack. */
export class Tenantry extends Stack {
  private readonly zones: readonly string[]

  constructor(scope: Construct, id: string, props: TenantryProps) {
    const { stage, release: commit, config, addresses } = props
    const { account, region } = addresses
    const env = account === undefined || region === undefined ? {} : { env: { account, region } }
    super(scope, id, { ...props, ...env, terminationProtection: config.database.keep && addresses.launched })
    this.zones = addresses.zones ?? [0, 1].map((index) => Fn.select(index, Fn.getAzs()))
    const { keep } = config.database
    const { launched } = addresses
    const { recovery, restoreFrom, vaultKeys: otherVaultKeys } = addresses
    const { multiRegionVaultKey } = config
    const keys = new Keys(this, 'Keys', { keep, multiRegionVaultKey, otherVaultKeys })
    const logs: LogKeeping = { key: keys.service, days: config.logDays, keep }
    const network = new Network(this, 'Network', { nat: config.nat, logs, cidr: addresses.cidr })
    const { vpc, functions: clients } = network
    const database = new Database(this, 'Database', {
      vpc,
      clients,
      keys,
      launched,
      config: config.database,
      restoreFrom,
    })
    const session = new Session(this, 'Session', { stage, vpc, group: clients, owner: database.owner, logs })
    const secrets = new Secrets(this, 'Secrets', { key: keys.service, keep, replica: recovery?.region })
    const backups =
      recovery === undefined
        ? null
        : new Recovery(this, 'Recovery', { database, keys, copyTo: recovery.backupVaults, keep }).backups
    const mail = new Mail(this, 'Mail', { domain: addresses.mailDomain, key: keys.service })
    const events = new Events(this, 'Events', { stage, key: keys.service, readers: addresses.serviceAccounts })
    const problemBaseUrl = addresses.problemBaseUrl ?? `${addresses.webBaseUrl}/problems`
    const stackSettings = {
      STAGE: stage,
      RELEASE: commit,
      ...(addresses.restart === undefined ? {} : { RESTART: addresses.restart }),
      WEB_BASE_URL: addresses.webBaseUrl,
      SECURITY_CONTACT: addresses.securityContact ?? '',
      ...platformSettings(addresses),
      PROBLEM_BASE_URL: problemBaseUrl,
      TRUSTED_PROXIES: addresses.trustedProxies.join(),
    }
    const settings = { ...stackSettings, ...ownSettings(config, Object.keys(stackSettings)) }
    // A setting that does not parse stops the synthesis, and not the functions of a deployed stage.
    parseConfig(settings)
    const context: FunctionContext = {
      stage,
      config,
      network,
      keys,
      secrets,
      database,
      mail,
      events,
      logs,
      settings,
    }
    // Its id stays: it is a part of logical ids, and CloudFormation would replace the functions under their own names.
    const workers = new Workers(this, 'Jobs', {
      workers: props.workers,
      context,
      key: keys.service,
      after: [database.writer, network],
    })
    database.rotate(workers.named(ROTATION_WORKER).function, workers.migrated)
    const timeoutSeconds = INTEGRATION_TIMEOUT_MS / 1000 + 1
    const groups = props.groups.map(({ group, handlerFile }) => {
      const made = new TenantryFunction(this, context, { kind: 'group', ...group, handlerFile, timeoutSeconds })
      made.function.node.addDependency(workers.migrated)
      return { group, made }
    })
    const { pages, ...frontEnd } = props.frontEnd
    const web = new TenantryFunction(this, context, { kind: 'group', ...frontEnd, timeoutSeconds })
    web.function.node.addDependency(workers.migrated)
    const name = `tenantry-${stage}`
    const { apiDomain = null, webDomain = null } = addresses
    const { throttle } = config
    const api = new Api(this, 'Api', {
      name,
      routes: groupRoutes(groups, (failure, requestId) => gatewayResponse(failure, { requestId, problemBaseUrl })),
      throttle,
      domain: apiDomain,
      ownAddress: apiDomain === null,
      compressionFromBytes: COMPRESSION_FROM_BYTES,
      cloudWatchRole: true,
      accessLog: `/tenantry/${stage}/access`,
      logs,
    })
    const webApi = new Api(this, 'WebApi', {
      name: `${name}-web`,
      routes: pageRoutes(pages, web, pageResponse),
      throttle,
      domain: webDomain,
      // API Gateway's own address begins each path with the name of its stage, and no link would work.
      ownAddress: false,
      compressionFromBytes: null,
      cloudWatchRole: false,
      accessLog: `/tenantry/${stage}/web-access`,
      logs,
    })
    webApi.node.addDependency(api)
    const { trustedProxies } = addresses
    if (config.firewall !== null) {
      const firewall = { config: config.firewall, sampled: addresses.firewallSamples, trustedProxies }
      const stageArnOf = ({ rest }: Api) => rest.deploymentStage.stageArn
      new Firewall(this, 'Firewall', { ...firewall, name, resourceArn: stageArnOf(api), signIn: isApiSignIn })
      new Firewall(this, 'WebFirewall', {
        ...firewall,
        name: `${name}-web`,
        resourceArn: stageArnOf(webApi),
        signIn: isAnyOf(openForms(pages)),
      })
    }
    const authorize = workers.named(AUTHORIZE_WORKER)
    const openCredential = workers.named(OPEN_CREDENTIAL_WORKER)
    for (const [service, roleArn] of Object.entries(addresses.credentialCallers))
      openCredential.allowService(service, roleArn)
    authorize.allowAccounts(addresses.serviceAccounts)
    for (const [name, output, stringValue] of [
      ['authorize-function-arn', 'AuthorizeFunction', authorize.live.functionArn],
      // Each service adds its own alias.
      ['open-credential-function-arn', 'OpenCredentialFunction', openCredential.function.functionArn],
      ['problem-base-url', 'ProblemBaseUrl', problemBaseUrl],
    ] as const) {
      new StringParameter(this, name, { parameterName: stageParameter(stage, name), stringValue })
      new CfnOutput(this, output, { value: stringValue })
    }
    new CfnOutput(this, 'ReleaseCommit', { value: commit })
    new CfnOutput(this, 'EventBus', { value: events.bus.eventBusArn })
    // The probe takes the way of every client: DNS, certificate, firewall, gateway.
    const probe = workers.named(PROBE_WORKER)
    probe.function.addEnvironment('PROBE_URL', apiDomain ? `https://${apiDomain.name}` : api.rest.url)
    if (webDomain !== null) probe.function.addEnvironment('PROBE_WEB_URL', `https://${webDomain.name}`)
    new CfnOutput(this, 'OutboundAddresses', { value: network.outbound })
    new CfnOutput(this, 'ApiUrl', { value: api.rest.url })
    const { domainName } = api.rest
    if (domainName !== undefined)
      new CfnOutput(this, 'ApiDomainTarget', { value: domainName.domainNameAliasDomainName })
    const { domainName: webName } = webApi.rest
    if (webName !== undefined) new CfnOutput(this, 'WebDomainTarget', { value: webName.domainNameAliasDomainName })
    if (keep) {
      const value = launched ? 'on' : 'off until "launched": true in cdk.json'
      new CfnOutput(this, 'DeletionProtection', { value })
    }
    new CfnOutput(this, 'ProbeSecret', { value: secrets.probe.secretName })
    new CfnOutput(this, 'CacheSecret', { value: secrets.cache.secretName })
    new CfnOutput(this, 'MailEvents', { value: mail.events.topicArn })
    mail.records.forEach((value, index) => {
      new CfnOutput(this, `MailRecord${index + 1}`, { value })
    })
    const operations = new Operations(this, 'Operations', {
      stage,
      config,
      probesPages: webDomain !== null,
      alarmEmail: addresses.alarmEmail,
      certificates: [apiDomain, webDomain].flatMap((domain) => (domain === null ? [] : [domain.certificateArn])),
      backups,
      keys,
      api,
      webApi,
      workers,
      database,
      mail,
      events,
      groups: [...groups.map(({ made }) => made), web],
    })
    const { stoppingReleases } = operations.alarms
    const release = config.canary
      ? new Release(this, 'Release', {
          stage,
          groups: groups.map(({ made }) => made.live),
          callers: [web.live, authorize.live, ...openCredential.services],
          // Not `migrate`: a deployment invokes its version, before it moves any alias.
          after: workers.functions
            .filter((made) => made !== workers.migrate && made !== authorize)
            .map(({ live }) => live),
          alarms: stoppingReleases,
        })
      : undefined
    logOtherFunctions(this, logGroup(this, 'DeploymentLogs', logs, `/tenantry/${stage}/deployment`))
    acknowledge(this, {
      apis: [api, webApi],
      network,
      session,
      database,
      events,
      workers,
      operations,
      release,
      secrets,
      groups: [...groups.map(({ made }) => made), web],
      stage,
      config,
      launched,
      restored: restoreFrom !== undefined,
    })
  }

  /** The CDK would ask the account, which synth does not have. */
  override get availabilityZones(): string[] {
    return [...this.zones]
  }
}
