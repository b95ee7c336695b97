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

/** The sending domain, and the topic for bounces and complaints. */
export class Mail extends Construct {
  /** The address of the sender. */
  readonly from: string
  /** Receives SES's events for bounces, complaints and rejects. */
  readonly events: Topic
  /** The records that the domain's DNS needs, as `NAME TYPE VALUE`: DKIM, MAIL FROM (MX and SPF) and DMARC. */
  readonly records: readonly string[]
  private readonly configurationSetArn: string

  constructor(scope: Construct, id: string, { domain, key }: { domain: string; key: IKey }) {
    super(scope, id)
    this.from = `no-reply@${domain}`
    this.events = new Topic(this, 'Events', { masterKey: key, enforceSSL: true })
    const mailFromDomain = `bounce.${domain}`
    const configurationSet = new ConfigurationSet(this, 'ConfigurationSet', {
      tlsPolicy: ConfigurationSetTlsPolicy.REQUIRE,
      reputationMetrics: true,
      // Not complaints: one about an invitation would end the password resets of the person. The database keeps complaints, by invitation.
      suppressionReasons: SuppressionReasons.BOUNCES_ONLY,
    })
    configurationSet.addEventDestination('Events', {
      destination: EventDestination.snsTopic(this.events),
      events: [EmailSendingEvent.BOUNCE, EmailSendingEvent.COMPLAINT, EmailSendingEvent.REJECT],
    })
    // As the identity's default configuration set it applies to every mail from the domain.
    const identity = new EmailIdentity(this, 'Identity', {
      identity: Identity.domain(domain),
      mailFromDomain,
      feedbackForwarding: false,
      configurationSet,
    })
    this.records = [
      ...identity.dkimRecords.map(({ name, value }) => `${name} CNAME ${value}`),
      // https://docs.aws.amazon.com/ses/latest/dg/mail-from.html
      `${mailFromDomain} MX 10 feedback-smtp.${Aws.REGION}.amazonses.com`,
      `${mailFromDomain} TXT "v=spf1 include:amazonses.com ~all"`,
      // https://docs.aws.amazon.com/ses/latest/dg/send-email-authentication-dmarc.html. The domain may send other mail too, so
      // the record asks receivers for nothing at first. infra/first-deployment.md says when it becomes stricter.
      `_dmarc.${domain} TXT "v=DMARC1; p=none"`,
    ]
    this.configurationSetArn = `arn:${Aws.PARTITION}:ses:${Aws.REGION}:${Aws.ACCOUNT_ID}:configuration-set/${configurationSet.configurationSetName}`
  }

  /**
   * Allows a role to send from the one address, and to read the account's limits. SES also checks the identity of a recipient that the account has verified,
   * which is every recipient while the account is in the sandbox, so the condition limits the sender instead of the resource:
   * https://docs.aws.amazon.com/ses/latest/dg/control-user-access.html
   */
  grantSend(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['ses:SendEmail'],
        resources: [`arn:${Aws.PARTITION}:ses:${Aws.REGION}:${Aws.ACCOUNT_ID}:identity/*`, this.configurationSetArn],
        conditions: { StringEquals: { 'ses:FromAddress': this.from } },
      }),
    )
    // The account's rate and quota. The action does not support resources.
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['ses:GetAccount'], resources: ['*'] }))
  }
}
