import { RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Secret, type SecretStringGenerator } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'

const RANDOM = { passwordLength: 64, excludePunctuation: true }

/** The secrets beside the database's. None is rotated by itself. */
export class Secrets extends Construct {
  /**
   * Pepper and mail key, generated once. With another pepper every session and every link in a mail is dead: change nothing
   * of how it is generated, or CloudFormation makes a new one.
   */
  readonly tokens: Secret
  /** Where the cache is, and its token: filled in by the operator, since the cache is not in AWS. */
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
    // A secret generates one value; the other is made by itself and resolved into it.
    const mailKey = secret('MailKey', RANDOM, 'What single-use tokens are derived with; read from the tokens secret')
    const template = JSON.stringify({ mail_key: mailKey.secretValue.unsafeUnwrap() })
    this.tokens = secret(
      'Tokens',
      { ...RANDOM, secretStringTemplate: template, generateStringKey: 'pepper' },
      'The pepper and the mail key',
    )
    // Until the operator has set it, the cache is one that never answers, and the database alone counts.
    this.cache = secret(
      'Cache',
      { ...RANDOM, secretStringTemplate: '{"url":"https://cache.invalid"}', generateStringKey: 'token' },
      'The url and the token of the REST API of the cache',
    )
  }
}
