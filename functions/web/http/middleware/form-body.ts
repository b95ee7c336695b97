import { FORM_TYPE, mediaTypeOf } from '#shared/http/media-type.ts'
import { Problem } from '#shared/base/problem.ts'
import { given, type WebMiddleware, type WebState } from '#web/http/request.ts'

const LIMIT_BYTES = 16 * 1024

/** Reads the fields of a form. */
export const formBody = (): WebMiddleware => ({
  before: ({ event, context: { request: state } }) => {
    if (given(state.matched).page.method === 'GET') return
    const bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')
    if (bytes.length > LIMIT_BYTES) throw new Problem(413, { reason: 'the form is too large' })
    if (!isForm(state)) throw new Problem(415, { reason: 'the body is not a form' })
    // A byte that is not UTF-8 becomes U+FFFD, as the URL standard says.
    state.form = new URLSearchParams(bytes.toString('utf8'))
  },
})

function isForm({ headers }: WebState): boolean {
  const types = headers.all('content-type')
  return types.length === 1 && mediaTypeOf(types[0] ?? '') === FORM_TYPE
}
