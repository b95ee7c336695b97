import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundle } from '#infra/aws/bundling.ts'
import { AUDIT_TEXTS } from '#shared/audit/actions.ts'
import { PROBLEM_ACTIONS } from '#shared/base/problem-actions.ts'
import { PERMITTED } from '#shared/identity/permissions.ts'

let outdir: string
let planted: string
beforeAll(async () => {
  outdir = await mkdtemp(join(tmpdir(), 'tenantry-bundling-'))
  // In the checkout, because the CDK bundles only what is there.
  await mkdir('node_modules/.cache', { recursive: true })
  planted = await mkdtemp('node_modules/.cache/driver-')
})
afterAll(async () => {
  for (const folder of [outdir, planted]) await rm(folder, { recursive: true })
})

/** Bundles a function that imports a copy of the driver, after a change of its source. */
async function bundleWith(change: (source: string) => string): Promise<void> {
  await cp('node_modules/postgres/src', planted, { recursive: true })
  const connection = join(planted, 'connection.js')
  await writeFile(connection, change(await readFile(connection, 'utf8')))
  const entry = join(planted, 'handler.js')
  await writeFile(entry, "import postgres from './index.js'\nexport const handler = () => postgres()\n")
  bundle({ handlerFile: resolve(entry), needs: [] }, await mkdtemp(join(outdir, 'maps-')))
}

it('bundles the patched driver, and refuses the driver as it was released', async () => {
  await bundleWith((source) => source)
  const patch = await readFile('infra/patches/postgres+3.4.9.patch', 'utf8')
  const added = [...patch.matchAll(/(?:^\+(?!\+\+).*\n)+/gm)].map(([block]) => block.replaceAll(/^\+/gm, ''))
  expect(added).toHaveLength(4)
  const released = bundleWith((source) => added.reduce((text, block) => text.replace(block, ''), source))
  await expect(released).rejects.toThrow(/has postgres\.js without its patch/)
})

/** Returns the code of all files of a bundle. */
async function codeOf(handlerFile: string): Promise<string> {
  const folder = bundle({ handlerFile: resolve(handlerFile), needs: [] }, await mkdtemp(join(outdir, 'maps-')))
  const names = (await readdir(folder)).filter((name) => name.endsWith('.js'))
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n')
}

it('keeps the texts of the pages out of the bundles of route groups', async () => {
  const [api, pages] = await Promise.all([codeOf('functions/api/roles/handler.ts'), codeOf('functions/web/handler.ts')])
  const texts = [PERMITTED['deal.read'].es, AUDIT_TEXTS['role.changed'].es[0], PROBLEM_ACTIONS['role-in-use']]
  for (const text of texts) {
    expect(pages).toContain(text)
    expect(api).not.toContain(text)
  }
})
