import { notFound } from '#shared/base/problem.ts'
import { page } from '#web/http/page.ts'
import { text } from '#web/http/reply.ts'
import { ENHANCE_FILE } from '#web/view/enhance.ts'
import { ICON_FILE, STYLE_SHEET } from '#web/view/style.ts'

const ASSETS = new Map([STYLE_SHEET, ICON_FILE, ENHANCE_FILE].map((asset) => [asset.name, asset]))

/**
 * A file that pages link. While two releases serve, either may get the request for a file of the other. It then sends its own file
 * of that name, which a browser keeps for a minute.
 */
export const showAsset = page({
  route: 'GET /assets/{file}',
  access: 'anyone',
  async handle({ params: { file } }) {
    const asset = ASSETS.get(file.replace(/-[0-9a-f]+(?=\.)/, ''))
    if (asset === undefined) throw notFound('no such file')
    const cacheControl = asset.path === `/assets/${file}` ? 'public, max-age=31536000, immutable' : 'public, max-age=60'
    return text(asset.contentType, asset.content, { headers: { 'cache-control': cacheControl } })
  },
})
