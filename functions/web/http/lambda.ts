import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { metered } from '#shared/base/metrics.ts'
import type { Page } from '#web/http/page.ts'
import { webPipeline } from '#web/http/pipeline.ts'
import { beginPage } from '#web/http/request.ts'
import type { WebSource } from '#web/http/runtime.ts'

/** Returns the Lambda handler of the front end. It never rejects: a failure is a page too. */
export const webLambda = (
  pages: readonly Page[],
  source: WebSource,
): ((event: APIGatewayProxyEvent, context: Context) => Promise<ProxyResult>) => {
  const handle = webPipeline(pages, source)
  return metered((event, context) => handle(event, { ...context, request: beginPage(event) }))
}
