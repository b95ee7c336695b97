import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const folder = new URL('./', import.meta.url)

it('names only files and folders in tests/README.md that exist', () => {
  const readme = readFileSync(new URL('README.md', folder), 'utf8')
  const named = [...readme.matchAll(/`([\w-]+\/[\w./-]*)`/g)].map(([, path = '']) => path)
  expect(named.length).toBeGreaterThan(40)
  expect(
    named.filter((path) => !existsSync(new URL(path, folder)) && !existsSync(new URL(`../${path}`, folder))),
  ).toEqual([])
})
