import { page } from '#web/http/page.ts'
import { text } from '#web/http/reply.ts'
import { ENHANCE, ENHANCE_PATH } from '#web/view/enhance.ts'
import { ICON, ICON_PATH, STYLE, STYLE_PATH } from '#web/view/style.ts'

// The hash of the content in its address.
const FOREVER = { headers: { 'cache-control': 'public, max-age=31536000, immutable' } }

export const styleSheet = page({
  route: `GET ${STYLE_PATH}`,
  access: 'anyone',
  handle: async () => text('text/css; charset=utf-8', STYLE, FOREVER),
})

export const icon = page({
  route: `GET ${ICON_PATH}`,
  access: 'anyone',
  handle: async () => text('image/svg+xml', ICON, FOREVER),
})

export const enhance = page({
  route: `GET ${ENHANCE_PATH}`,
  access: 'anyone',
  handle: async () => text('text/javascript; charset=utf-8', ENHANCE, FOREVER),
})
