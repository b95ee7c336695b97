import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { writeGenerated } from './generated.ts'
import { type Setting, SETTINGS, settingsIn } from '#shared/base/config.ts'

export const README = fileURLToPath(new URL('../README.md', import.meta.url))

const MARKERS = /(?<=<!-- settings:begin -->\n).*(?=<!-- settings:end -->)/s

const row = ({ name, type, fallback, description }: Setting<unknown>): string =>
  `| \`${name}\` | ${type} | ${fallback === '' ? '' : `\`${fallback}\``} | ${description} |`

/** Returns the text with the table of settings between its markers. Throws when it has none. */
export function withSettings(text: string): string {
  if (!MARKERS.test(text)) throw new Error('infra/README.md has no markers for the table of settings')
  const rows = ['| setting | value | default | meaning |', '|---|---|---|---|', ...settingsIn(SETTINGS).map(row)]
  return text.replace(MARKERS, `\n${rows.join('\n')}\n\n`)
}

if (import.meta.main) await writeGenerated(README, withSettings(await readFile(README, 'utf8')), 'npm run settings')
