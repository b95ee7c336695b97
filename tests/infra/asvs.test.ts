import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const text = (file: string): string => readFileSync(new URL(file, root), 'utf8')
const page = text('infra/asvs.md')

const rows = [...page.matchAll(/^\| (\d+\.\d+\.\d+) \| L[123] \| .+? \| (.+?) \| (.+) \|$/gm)].map(
  ([, id = '', verdict = '', evidence = '']) => ({ id, verdict, evidence }),
)

/** Returns what of a piece of evidence does not exist: a file, a title in a file. */
function missing(evidence: string): string[] {
  // A file, and the titles in quotes up to the next file.
  const parts = [...evidence.matchAll(/`((?:[\w.-]+\/)+[\w.+-]+|package-lock\.json)`([^`]*(?:`[^`/]*`[^`]*)*)/g)]
  return parts.flatMap(([, file = '', after = '']) => {
    if (!existsSync(new URL(file, root))) return [file]
    const titles = [...after.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title)
    return titles.filter((title) => !text(file).includes(title)).map((title) => `${file} "${title}"`)
  })
}

it('names only files and test titles that exist', () => {
  expect(rows).not.toEqual([])
  expect(rows.flatMap(({ id, evidence }) => missing(evidence).map((what) => `${id}: ${what}`))).toEqual([])
})

it('names a file for each requirement that passes', () => {
  const unproven = rows.filter(({ verdict, evidence }) => verdict === 'pass' && !/`[^`]*\.[^`]*`/.test(evidence))
  expect(unproven.map(({ id }) => id)).toEqual([])
})
