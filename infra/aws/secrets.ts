import { RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Secret, type SecretProps, type SecretStringGenerator } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'
import { KEPT } from './logs.ts'

const RANDOM = { passwordLength: 64, excludePunctuation: true }

/** The secrets other than the database's. None rotates automatically. */
export class Secrets extends Construct {
  /**
   * The pepper, generated once. A new one ends every session and every link in a mail. Never change how it is generated,
   * because CloudFormation then generates a new one. The same is true of the mail key.
   */
  readonly pepper: Secret
  /** The mail key, from which single-use tokens are derived. */
  readonly mailKey: Secret
  /** The factor key, which seals second factors. Without it, authenticator apps of users no longer work. */
  readonly factorKey: Secret
  /** The web key, which protects the forms of the front end before the sign-in. A new one only makes open forms invalid. */
  readonly webKey: Secret
  /** URL and token of the cache. The operator fills it in, because the cache is not in AWS. */
  readonly cache: Secret
  /** Email and password of the user that probes the API. The operator creates the user and fills in the email. */
  readonly probe: Secret

  constructor(
    scope: Construct,
    id: string,
    { key, keep, replica }: { key: IKey; keep: boolean; replica: string | undefined },
  ) {
    super(scope, id)
    // Without them no session and no link would be valid in another region.
    const replicaRegions = replica === undefined ? [] : [{ region: replica }]
    const removalPolicy = keep ? KEPT : RemovalPolicy.DESTROY
    const secret = (
      name: string,
      generateSecretString: SecretStringGenerator,
      description: string,
      more: SecretProps = {},
    ) =>
      new Secret(this, name, {
        ...more,
        encryptionKey: key,
        removalPolicy,
        generateSecretString,
        description,
      })
    this.pepper = secret(
      'Pepper',
      { ...RANDOM, secretStringTemplate: '{}', generateStringKey: 'pepper' },
      'The pepper, which hashes tokens and personal values',
      { replicaRegions },
    )
    this.mailKey = secret(
      'MailKey',
      { ...RANDOM, secretStringTemplate: '{}', generateStringKey: 'mail_key' },
      'The mail key, from which single-use tokens are derived',
      { replicaRegions },
    )
    this.factorKey = secret(
      'FactorKey',
      { ...RANDOM, secretStringTemplate: '{}', generateStringKey: 'factor_key' },
      'The factor key, which seals second factors and proves them to the database',
      { replicaRegions },
    )
    this.webKey = secret(
      'WebKey',
      { ...RANDOM, secretStringTemplate: '{}', generateStringKey: 'web_key' },
      'The web key, which protects the forms of the front end before the sign-in',
    )
    // This URL never responds. Until the operator replaces it, the database counts rate limits alone.
    this.cache = secret(
      'Cache',
      { ...RANDOM, secretStringTemplate: '{"url":"https://cache.invalid"}', generateStringKey: 'token' },
      'url and token of the REST API of the cache',
    )
    this.probe = secret(
      'Probe',
      { ...RANDOM, secretStringTemplate: '{"email":"nobody@probe.invalid"}', generateStringKey: 'password' },
      'email and password of the user that probes the API',
    )
  }
}
