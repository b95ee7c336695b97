import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { LANGUAGES, LOCALES } from '#shared/schema/language.ts'
import { removeFolder, start, stateFolder, stop } from '#tests/support/stack-process.ts'
import { launchChromium, openWindow } from './chromium.ts'
import { STACK_ENV } from './stack-env.ts'
import { statesOf } from './states/list.ts'
import { make } from './states/made.ts'
import { sessions } from './states/people.ts'
import { visit } from './states/visit.ts'

/** Writes a picture of every state of every page to .screenshots, at 1280 and 360 px, light and dark, in each language. */
const TARGET = fileURLToPath(new URL('../../.screenshots', import.meta.url))
const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } })

/** The name of a picture: `shop_members (many)`. */
const nameOf = ({ view, name }: { view: string; name: string }) =>
  `${view
    .replace('/s/{slug}', '/shop')
    .slice(1)
    .replaceAll(/[/{}]+/g, '_')
    .replace(/_$/, '')} (${name})`

const folder = await stateFolder()
const stack = await start(join(folder, 'state'), { env: STACK_ENV })
const chromium = await launchChromium()
try {
  const made = await make(stack.info)
  const states = statesOf(made).filter((state) => nameOf(state).includes(values.only))
  const tokenOf = sessions(stack.info)
  await rm(TARGET, { recursive: true, force: true })
  const looks: string[] = []
  for (const language of LANGUAGES) {
    const context = await openWindow(chromium, stack.info.web_url, { scripts: true, locale: LOCALES[language] })
    const page = await context.newPage()
    for (const state of states) {
      await visit(page, state, { stack: stack.info, made, language, tokenOf })
      for (const width of [1280, 360])
        for (const colorScheme of ['light', 'dark'] as const) {
          const look = `${width}-${colorScheme}-${language}`
          if (!looks.includes(look)) looks.push(look)
          await mkdir(join(TARGET, look), { recursive: true })
          await page.setViewportSize({ width, height: 740 })
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
          await page.screenshot({ path: join(TARGET, look, `${nameOf(state)}.png`), fullPage: true })
        }
    }
    await context.close()
  }
  for (const look of looks) await writeFile(join(TARGET, `${look}.html`), overview(look, states.map(nameOf)))
  process.stdout.write(`${states.length} states in ${looks.length} looks are in ${TARGET}\n`)
} finally {
  await chromium.close()
  await stop(stack)
  await removeFolder(folder)
}

/** A page with every picture of a look. */
function overview(look: string, names: readonly string[]): string {
  const figures = names.map(
    (name) =>
      `<figure><img loading="lazy" src="${encodeURI(`${look}/${name}.png`)}" alt=""><figcaption>${name}</figcaption></figure>`,
  )
  const style =
    'body{display:flex;flex-wrap:wrap;gap:1rem;align-items:start;font-family:sans-serif}figure{margin:0}img{max-width:30rem;border:1px solid gray}'
  return `<!doctype html><meta charset="utf-8"><title>${look}</title><style>${style}</style>${figures.join('\n')}\n`
}
