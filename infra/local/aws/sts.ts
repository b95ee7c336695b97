import { createHash, createHmac } from 'node:crypto'
import * as v from 'valibot'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'
import { AWS_ACCOUNT, AWS_REGION, AwsError, withAwsFailures } from './aws-endpoints.ts'

/** The credentials that are valid here, as the SDK takes them. */
export const LOCAL_CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' } as const

/** The principal that has them. */
export const LOCAL_CALLER = `arn:aws:iam::${AWS_ACCOUNT}:user/local`

const Query = v.object({
  Action: v.literal('GetCallerIdentity'),
  Version: v.literal('2011-06-15'),
  'X-Amz-Credential': v.pipe(v.string(), v.startsWith(`${LOCAL_CREDENTIALS.accessKeyId}/`)),
  'X-Amz-Date': v.string(),
  'X-Amz-SignedHeaders': v.string(),
  'X-Amz-Signature': v.string(),
})

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Serves GetCallerIdentity of STS for a signed query string, and checks the signature
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). It stands for the endpoint of
 * the region, whose name the caller signed as the host.
 */
export const startSts = (): Promise<HttpServer> =>
  startHttpServer({
    answer: withAwsFailures(({ method, url, headers }) => {
      const parsed = v.safeParse(Query, Object.fromEntries(url.searchParams))
      if (!parsed.success) throw new AwsError('InvalidClientTokenId', 'The security token is invalid.', 403)
      const query = parsed.output
      const { 'X-Amz-Credential': credential, 'X-Amz-Date': date, 'X-Amz-SignedHeaders': names } = query
      const [, ...scope] = credential.split('/')
      const sent = { ...headers, host: `sts.${AWS_REGION}.amazonaws.com` }
      const canonical = [
        method,
        url.pathname,
        [...url.searchParams]
          .filter(([name]) => name !== 'X-Amz-Signature')
          .map(([name, value]) => `${encode(name)}=${encode(value)}`)
          .toSorted()
          .join('&'),
        ...names.split(';').map((name) => `${name}:${String(Object(sent)[name])}`),
        '',
        names,
        sha256(''),
      ].join('\n')
      const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n')
      let key: string | Buffer = `AWS4${LOCAL_CREDENTIALS.secretAccessKey}`
      for (const part of scope) key = hmac(key, part)
      if (hmac(key, text).toString('hex') !== query['X-Amz-Signature'])
        throw new AwsError('SignatureDoesNotMatch', 'The signature does not match.', 403)
      const identity = { Account: AWS_ACCOUNT, Arn: LOCAL_CALLER, UserId: LOCAL_CREDENTIALS.accessKeyId }
      return json(200, { GetCallerIdentityResponse: { GetCallerIdentityResult: identity } })
    }),
  })
