import middy from '@middy/core'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { formBody } from '#web/http/middleware/form-body.ts'
import { matchPage } from '#web/http/middleware/match-page.ts'
import { ownOrigin } from '#web/http/middleware/own-origin.ts'
import { pageFailures } from '#web/http/middleware/page-failures.ts'
import { pageHeaders } from '#web/http/middleware/page-headers.ts'
import { session } from '#web/http/middleware/session.ts'
import { shop } from '#web/http/middleware/shop.ts'
import type { Page } from '#web/http/page.ts'
import { renderer } from '#web/http/render.ts'
import type { WebContext } from '#web/http/request.ts'
import { runPage } from '#web/http/run-page.ts'
import type { WebSource } from '#web/http/runtime.ts'

/**
 * The path of every page, outermost middleware first, as in shared/http/pipeline.ts: a middleware throws and never returns
 * a response. A form is done only after all of them: it is ours, its session is live and in the shop of the address.
 */
export const webPipeline = (pages: readonly Page[], source: WebSource) => {
  const { makeUi, render } = renderer(pages, source.config)
  const running = { makeUi, config: source.config, byRoute: new Map(pages.map((page) => [page.route, page])) }
  return middy<APIGatewayProxyEvent, ProxyResult, Error, WebContext>()
    .use(pageHeaders())
    .use(pageFailures(render))
    .use(matchPage(pages, source))
    .use(ownOrigin(source.config))
    .use(formBody())
    .use(session())
    .use(shop())
    .handler(async (_event, { request: state }) => {
      const { reply, ui } = await runPage(state, running)
      return render(state, reply, ui)
    })
}
