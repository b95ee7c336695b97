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

/** Code without its indentation. */
const flat = (code: string): string => code.replaceAll(/^ +/gm, '')

it.each(['functions/README.md', 'migrations/README.md'])('quotes code in %s as it stands in a file', (page) => {
  const quoted = [...readFileSync(page, 'utf8').matchAll(/```(?:ts|sql)\n([^]*?)```/g)].map(([, code = '']) =>
    flat(code).trimEnd(),
  )
  const files = globSync('{functions,migrations,tests/guarantees/contract/new-group}/**/*.{ts,sql}')
  const sources = files.map((file) => flat(readFileSync(file, 'utf8')))
  expect(quoted.length).toBeGreaterThan(3)
  // An ellipsis stands for what is left out.
  const isThere = (code: string) =>
    sources.some((source) => code.split('…').every((part) => source.includes(part.trim())))
  expect(quoted.filter((code) => !isThere(code))).toEqual([])
})
