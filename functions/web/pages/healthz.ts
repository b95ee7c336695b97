import { page } from '#web/page.ts'
import { text } from '#web/reply.ts'

export const healthz = page({
  route: 'GET /healthz',
  access: 'anyone',
  handle: async () => text('text/plain; charset=utf-8', 'ok\n'),
})
