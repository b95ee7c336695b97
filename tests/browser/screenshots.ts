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

/** What a crawl as the owner does not meet: a choice, empty lists, and refusals. */
const STATES: readonly { name: string; email: string; password?: string; address?: string }[] = [
  { name: 'choice of shops', email: 'both@shops.test' },
  { name: 'no shop', email: 'nobody@shops.test' },
  { name: 'refused sign-in', email: 'owner@acme.test', password: 'wrong' },
  { name: 'few permissions', email: 'viewer@acme.test' },
  { name: 'no members found', email: 'owner@bolt.test', address: '/s/bolt-apparel/members?q=zzz' },
  { name: 'no invitations', email: 'owner@bolt.test', address: '/s/bolt-apparel/invitations' },
  { name: 'no vendor accounts', email: 'owner@bolt.test', address: '/s/bolt-apparel/vendor-accounts' },
  { name: 'no syncs', email: 'owner@bolt.test', address: '/s/bolt-apparel/sync-runs' },
  { name: 'unknown page', email: 'owner@bolt.test', address: '/nowhere' },
  { name: 'forbidden page', email: 'viewer@acme.test', address: '/s/acme-print/members' },
]

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
      const shoot = async (view: string, shown = page) => {
        const name = view === '/' ? 'home' : view.slice(1).replaceAll(/[/{}]+/g, '_')
        await shown.screenshot({ path: join(target, `${name}.png`), fullPage: true })
      }
      await crawl(page, addresses, shoot)
      await signIn(page, 'owner@acme.test')
      await crawl(page, OWNER_PAGES, shoot)
      await context.close()
      for (const { name, email, password, address } of STATES) {
        const other = await openWindow(chromium, stack.info.web_url, { width, colorScheme })
        const shown = await other.newPage()
        await signIn(shown, email, password)
        if (address !== undefined) await shown.goto(address)
        await shoot(`/state_${name}`, shown)
        await other.close()
      }
    }
  }
  process.stdout.write(`The pictures are in ${TARGET}\n`)
} finally {
  await chromium.close()
  await stop(stack)
  await removeFolder(folder)
}
