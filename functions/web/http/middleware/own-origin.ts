import type { Config } from '#shared/base/config.ts'
import { ForeignForm } from '#web/http/foreign-form.ts'
import { given, type WebMiddleware, type WebState } from '#web/http/request.ts'

/** Refuses a form that a page of another site sent, by what the browser says about it. The CSRF field is checked as well. */
export const ownOrigin = ({ mail: { webBaseUrl } }: Config): WebMiddleware => {
  const own = new URL(webBaseUrl)
  return {
    before: ({ context: { request: state } }) => {
      if (given(state.matched).page.method === 'GET') return
      const sites = state.headers.all('sec-fetch-site')
      if (sites.some((site) => site !== 'same-origin')) throw new ForeignForm('Sec-Fetch-Site names another site')
      const origins = state.headers.all('origin')
      if (sites.length === 0 && origins.some((origin) => !isOurs(origin, own, state)))
        throw new ForeignForm('Origin names another site')
      state.fromOurPage = sites.length + origins.length > 0
    },
  }
}

/** On this machine, where the front end is not on https, it has several names. */
const isOurs = (origin: string, own: URL, { headers }: WebState): boolean =>
  origin === own.origin || (own.protocol === 'http:' && origin === `http://${headers.get('host')}`)
