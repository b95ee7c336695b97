import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { Config } from '#shared/config.ts'
import { forbidden } from '#shared/problem.ts'
import { header } from '#shared/http/request.ts'
import { headerValues } from '#web/header-values.ts'
import { given, type WebMiddleware } from '#web/request.ts'

/** Refuses a form that a page of another site sent, by what the browser says about it. The CSRF field is checked as well. */
export const ownOrigin = ({ mail: { webBaseUrl } }: Config): WebMiddleware => {
  const own = new URL(webBaseUrl)
  return {
    before: ({ event, context: { request: state } }) => {
      if (given(state.matched).page.method === 'GET') return
      const sites = headerValues(event, 'sec-fetch-site')
      if (sites.some((site) => site !== 'same-origin')) throw forbidden('Sec-Fetch-Site names another site')
      if (sites.length === 0 && headerValues(event, 'origin').some((origin) => !isOurs(origin, own, event)))
        throw forbidden('Origin names another site')
    },
  }
}

/** On this machine, where the front end is not on https, it has several names. */
const isOurs = (origin: string, own: URL, event: APIGatewayProxyEvent): boolean =>
  origin === own.origin || (own.protocol === 'http:' && origin === `http://${header(event, 'host')}`)
