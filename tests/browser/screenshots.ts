import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeFolder, start, stateFolder, stop } from '#tests/support/stack-process.ts'
import { launchChromium, openWindow, signIn } from './chromium.ts'
import { crawl } from './crawl.ts'
import { furnish, OWNER_PAGES } from './setting.ts'
import { STACK_ENV } from './stack-env.ts'

/** Writes a picture of each page to .screenshots: at 1280 and 320 px, light and dark. */
const TARGET = fileURLToPath(new URL('../../.screenshots', import.meta.url))

const folder = await stateFolder()
const stack = await start(join(folder, 'state'), { env: STACK_ENV })
const chromium = await launchChromium()
try {
  await rm(TARGET, { recursive: true, force: true })
  const addresses = await furnish(chromium, stack.info)
  for (const width of [1280, 320]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const target = join(TARGET, `${width}-${colorScheme}`)
      await mkdir(target, { recursive: true })
      const context = await openWindow(chromium, stack.info.web_url, { width, colorScheme })
      const page = await context.newPage()
      const shoot = async (view: string) => {
        const name = view === '/' ? 'home' : view.slice(1).replaceAll(/[/{}]+/g, '_')
        await page.screenshot({ path: join(target, `${name}.png`), fullPage: true })
      }
      await crawl(page, addresses, shoot)
      await signIn(page, 'owner@acme.test')
      await crawl(page, OWNER_PAGES, shoot)
      await context.close()
    }
  }
  process.stdout.write(`The pictures are in ${TARGET}\n`)
} finally {
  await chromium.close()
  await stop(stack)
  await removeFolder(folder)
}
