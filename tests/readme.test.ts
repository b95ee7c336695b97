import { existsSync, globSync, readFileSync } from 'node:fs'
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

it('quotes TypeScript in functions/README.md as it stands in the files of functions/', () => {
  const readme = readFileSync('functions/README.md', 'utf8')
  const quoted = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code)
  const sources = globSync('functions/**/*.ts').map((file) => readFileSync(file, 'utf8'))
  expect(quoted.length).toBeGreaterThan(5)
  expect(quoted.filter((code) => !sources.some((source) => source.includes(code)))).toEqual([])
})
