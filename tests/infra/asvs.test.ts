import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const text = (file: string): string => readFileSync(new URL(file, root), 'utf8')
const page = text('infra/asvs.md')

const rows = [...page.matchAll(/^\| (\d+\.\d+\.\d+) \| (L[123]) \| .+? \| (.+?) \| (.+) \|$/gm)].map(
  ([, id = '', level = '', verdict = '', evidence = '']) => ({ id, level, verdict, evidence }),
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

it('counts the verdicts of each level, and lists what is open at level 1 and 2', () => {
  const verdicts = ['pass', 'partial', 'fail', 'n/a', 'not here']
  expect(rows.filter(({ verdict }) => !verdicts.includes(verdict))).toEqual([])
  for (const name of ['L1', 'L2', 'L3', 'all']) {
    const ofLevel = rows.filter(({ level }) => name === 'all' || level === name)
    const [pass = 0, partial = 0, fail = 0, ...rest] = verdicts.map(
      (wanted) => ofLevel.filter(({ verdict }) => verdict === wanted).length,
    )
    const counted = [name, pass, partial, fail, ...rest, `${pass} of ${pass + partial + fail}`]
    expect(page).toContain(`| ${counted.join(' | ')} |`)
  }
  const open = rows.filter(({ level, verdict }) => level !== 'L3' && /^(?:partial|fail)$/.test(verdict))
  expect(page).toContain(`Open at level 1 and 2: ${open.map(({ id }) => id).join(', ')}.`)
})
