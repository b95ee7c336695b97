import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundle } from '#infra/aws/bundling.ts'

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
