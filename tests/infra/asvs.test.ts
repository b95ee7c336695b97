import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const text = (file: string): string => readFileSync(new URL(file, root), 'utf8')
const page = text('infra/asvs.md')

const VERDICTS = ['pass', 'partial', 'fail', 'n/a', 'not here']

const rows = [...page.matchAll(/^\| (\d+\.\d+\.\d+) \| (L[123]) \| (.+?) \| (.+?) \| (.+) \|$/gm)].map(
  ([, id = '', level = '', , verdict = '', evidence = '']) => ({ id, level, verdict, evidence }),
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
  expect(rows.flatMap(({ id, evidence }) => missing(evidence).map((what) => `${id}: ${what}`))).toEqual([])
})

it('names a file for each requirement that passes', () => {
  const unproven = rows.filter(({ verdict, evidence }) => verdict === 'pass' && !/`[^`]*\.[^`]*`/.test(evidence))
  expect(unproven.map(({ id }) => id)).toEqual([])
})

it('has each requirement once, in order, with a verdict', () => {
  const numbers = rows.map(({ id }) => id.split('.').reduce((sum, part) => sum * 100 + Number(part), 0))
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
  expect(rows.filter(({ verdict }) => !VERDICTS.includes(verdict))).toEqual([])
  expect(rows).toHaveLength(284)
})

it('counts its rows by level and verdict', () => {
  for (const level of ['L1', 'L2', 'L3', 'all']) {
    const ofLevel = rows.filter((row) => level === 'all' || row.level === level)
    const counts = VERDICTS.map((name) => ofLevel.filter(({ verdict }) => verdict === name).length)
    const [pass = 0, partial = 0, fail = 0] = counts
    expect(page).toContain(`\n| ${[level, ...counts, `${pass} of ${pass + partial + fail}`].join(' | ')} |\n`)
  }
})
