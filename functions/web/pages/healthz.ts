import { page } from '#web/http/page.ts'
import { text } from '#web/http/reply.ts'

export const healthz = page({
  route: 'GET /healthz',
  access: 'anyone',
  handle: async () => text('text/plain; charset=utf-8', 'ok\n'),
})
