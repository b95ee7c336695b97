import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-sbom-'))
})
afterAll(() => rm(folder, { recursive: true }))

it('lists the locked production dependencies in CycloneDX, and none that only development needs', async () => {
  const file = join(folder, 'sbom.cdx.json')
  await promisify(execFile)(process.execPath, ['infra/tools/sbom.ts', file])
  const { bomFormat, components, dependencies } = JSON.parse(await readFile(file, 'utf8'))
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
  const locked = Object.entries<any>(packages)
    .filter(
      ([path, { link, dev, optional, devOptional }]) =>
        /node_modules/.test(path) && ![link, dev, optional, devOptional].includes(true),
    )
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`)
  const listed = components.map(({ name, version }: any) => `${name}@${version}`)
  expect(bomFormat).toBe('CycloneDX')
  expect(listed.toSorted()).toEqual([...new Set(locked)].toSorted())
  const [root, ...others] = dependencies
  const { dependencies: direct }: { dependencies: Record<string, string> } = JSON.parse(
    await readFile('package.json', 'utf8'),
  )
  const named = Object.entries(direct).map(([name, version]) => `${name}@${version}`)
  expect(root.dependsOn).toEqual(expect.arrayContaining(named))
  expect(others.map(({ ref }: any) => ref).toSorted()).toEqual(listed.toSorted())
})
