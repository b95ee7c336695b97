import * as v from 'valibot'

/** What only the operator of a stage knows; in cdk.json, by the stage's name. */
export const Addresses = v.strictObject({
  /** Where the links in mails point. */
  webBaseUrl: v.pipe(v.string(), v.url()),
  /** The domain that mail is sent from. */
  mailDomain: v.string(),
  /** Where the documents of problem types are; without it, below webBaseUrl. */
  problemBaseUrl: v.optional(v.pipe(v.string(), v.url())),
  /** Who is mailed by the alarms, after confirming it; without it, whoever subscribes to their topic. */
  alarmEmail: v.optional(v.pipe(v.string(), v.email())),
  /** The API's own domain, and the ARN of its certificate in ACM, in the stage's region. */
  apiDomain: v.optional(v.object({ name: v.string(), certificateArn: v.string() })),
  /**
   * The ARNs of KMS keys beside the stage's own that wrap data keys: the first wraps new ones, so that `operate rewrap` can
   * move the others to it. Their own policies must let the stage's roles use them.
   */
  vaultKeys: v.optional(v.pipe(v.array(v.pipe(v.string(), v.startsWith('arn:'))), v.nonEmpty())),
})

export type Addresses = v.InferOutput<typeof Addresses>
