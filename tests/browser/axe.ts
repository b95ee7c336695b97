import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

declare const axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }

/** The violations that axe finds on the page that is shown, as text. */
export async function axeOf(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<Awaited<ReturnType<typeof axe.run>>>(
    `${AXE}; axe.run({ resultTypes: ['violations'] })`,
  )
  return violations.map(({ id, nodes }) => `axe ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
