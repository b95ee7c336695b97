import { Aws } from 'aws-cdk-lib'
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import {
  ConfigurationSet,
  ConfigurationSetTlsPolicy,
  EmailIdentity,
  EmailSendingEvent,
  EventDestination,
  Identity,
  SuppressionReasons,
} from 'aws-cdk-lib/aws-ses'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'

/** The domain that mail is sent from, and what becomes of letters that bounce or annoy. */
export class Mail extends Construct {
  readonly from: string
  /** Bounces and complaints, as SES words them, for whoever subscribes. */
  readonly events: Topic
  /** What the domain's DNS must say before SES sends: CNAME records. */
  readonly records: readonly { readonly name: string; readonly value: string }[]
  private readonly arns: string[]

  constructor(scope: Construct, id: string, { domain, key }: { domain: string; key: IKey }) {
    super(scope, id)
    this.from = `Tenantry <no-reply@${domain}>`
    this.events = new Topic(this, 'Events', { masterKey: key, enforceSSL: true })
    const configurationSet = new ConfigurationSet(this, 'ConfigurationSet', {
      tlsPolicy: ConfigurationSetTlsPolicy.REQUIRE,
      reputationMetrics: true,
      suppressionReasons: SuppressionReasons.BOUNCES_AND_COMPLAINTS,
    })
    configurationSet.addEventDestination('Events', {
      destination: EventDestination.snsTopic(this.events),
      events: [EmailSendingEvent.BOUNCE, EmailSendingEvent.COMPLAINT, EmailSendingEvent.REJECT],
    })
    // The identity's own configuration set, so that every letter from it goes by that one.
    const identity = new EmailIdentity(this, 'Identity', {
      identity: Identity.domain(domain),
      mailFromDomain: `bounce.${domain}`,
      feedbackForwarding: false,
      configurationSet,
    })
    this.records = identity.dkimRecords
    this.arns = [
      identity.emailIdentityArn,
      `arn:${Aws.PARTITION}:ses:${Aws.REGION}:${Aws.ACCOUNT_ID}:configuration-set/${configurationSet.configurationSetName}`,
    ]
  }

  grantSend(role: IRole): void {
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['ses:SendEmail'], resources: this.arns }))
  }
}
