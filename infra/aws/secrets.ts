import { RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Secret, type SecretStringGenerator } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'

const RANDOM = { passwordLength: 64, excludePunctuation: true }

/** The secrets other than the database's. None rotates automatically. */
export class Secrets extends Construct {
  /**
   * The service secret: pepper and mail key, generated once. A new pepper ends every session and every link in a mail. Never
   * change how it is generated, because CloudFormation then generates a new one.
   */
  readonly service: Secret
  /** URL and token of the cache. The operator fills it in, because the cache is not in AWS. */
  readonly cache: Secret

  constructor(scope: Construct, id: string, { key, keep }: { key: IKey; keep: boolean }) {
    super(scope, id)
    const removalPolicy = keep ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY
    const secret = (name: string, generateSecretString: SecretStringGenerator, description: string) =>
      new Secret(this, name, {
        encryptionKey: key,
        removalPolicy,
        generateSecretString,
        description,
      })
    // Secrets Manager generates one value per secret. So the mail key has a secret of its own and is resolved into this one.
    const mailKey = secret(
      'MailKey',
      RANDOM,
      'The mail key, from which single-use tokens are derived. Functions read it from the service secret',
    )
    const template = JSON.stringify({ mail_key: mailKey.secretValue.unsafeUnwrap() })
    this.service = secret(
      'Service',
      { ...RANDOM, secretStringTemplate: template, generateStringKey: 'pepper' },
      'The service secret: pepper and mail key',
    )
    // This URL never responds. Until the operator replaces it, the database counts rate limits alone.
    this.cache = secret(
      'Cache',
      { ...RANDOM, secretStringTemplate: '{"url":"https://cache.invalid"}', generateStringKey: 'token' },
      'url and token of the REST API of the cache',
    )
  }
}
