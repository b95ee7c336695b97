import type { APIGatewayProxyEvent } from 'aws-lambda'
import { type Problem, unauthorized } from '#shared/problem.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { countMetric } from '#shared/metrics.ts'
import { TOKEN_PATTERN, tokenHashes } from '#shared/secret/secret.ts'
import { authenticate } from '#shared/session/queries.ts'

/** Resolves the session token to the principal, in one statement. Every cause of refusal gets the same 401. */
export const bearer = (): Middleware => ({
  before: async ({ event, context }) => {
    const { endpoint, runtime } = matched(context.request)
    const credentials = authorization(event)
    const [scheme = '', token = '', ...rest] = (credentials[0] ?? '').split(' ')
    const isBearer = scheme.toLowerCase() === 'bearer'
    const isToken = isBearer && credentials.length === 1 && rest.length === 0 && TOKEN_PATTERN.test(token)
    if (isToken) context.request.sentToken = token
    if (endpoint.access === 'anyone') return
    if (credentials.length === 0) throw refused('absent', 'no credentials')
    if (!isBearer) throw refused('malformed', 'not a bearer token')
    if (!isToken) throw refused('malformed', 'malformed token', true)
    const { uncleaned } = runtime.database
    context.request.principal = await authenticate(uncleaned, tokenHashes(runtime, token), runtime.config.session)
    if (context.request.principal === null) throw refused('unknown', 'no live session has this token', true)
  },
})

function refused(cause: 'absent' | 'malformed' | 'unknown', reason: string, tokenSent = false): Problem {
  countMetric('Unauthorized', cause)
  return unauthorized(reason, tokenSent)
}

const authorization = (event: APIGatewayProxyEvent): string[] =>
  Object.entries(event.multiValueHeaders ?? {}).flatMap(([name, values]) =>
    name.toLowerCase() === 'authorization' ? (values ?? []) : [],
  )
