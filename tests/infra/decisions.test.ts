import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const FOLDER = 'infra/decisions/'
const files = readdirSync(FOLDER).filter((file) => file !== 'README.md')

/** Returns the parts of a record, or null if its form is another. */
function parse(file: string) {
  const text = readFileSync(FOLDER + file, 'utf8')
  const form =
    /^# (\d+)\. (.+)\n\n- Date: (\d{4}-\d\d-\d\d)\n- Status: (accepted|superseded by (\d+))\n\n\*\*Decision\*\* /
  const [, number = '', title = '', date = '', status = '', successor] = form.exec(text) ?? []
  return title === '' ? null : { file, number: Number(number), title, date, status, successor }
}

const records = files.map(parse).filter((record) => record !== null)

it('has a title, a date, a status and a decision in each record', () => {
  expect(records.map(({ file }) => file)).toEqual(files)
  expect(records.length).toBeGreaterThan(20)
  for (const { file, date } of records) expect(new Date(date).toISOString(), file).toContain(date)
})

it('numbers each record once, as its file is named', () => {
  expect(files.map((file) => Number(/^(\d{4})-[a-z0-9-]+\.md$/.exec(file)?.[1]))).toEqual(
    records.map(({ number }) => number),
  )
  expect(new Set(records.map(({ number }) => number)).size).toBe(records.length)
})

it('names an existing, later record as the successor of one that is superseded', () => {
  const lost = records.filter(({ number, successor }) => {
    if (successor === undefined) return false
    return Number(successor) <= number || !records.some((each) => each.number === Number(successor))
  })
  expect(lost).toEqual([])
})

it('lists each record with its status in the index', () => {
  const index = readFileSync(`${FOLDER}README.md`, 'utf8')
  const rows = index.split('\n').filter((line) => /^\| \d/.test(line))
  expect(rows).toEqual(
    records.map(({ file, number, title, status }) => `| ${number} | [${title}](${file}) | ${status} |`),
  )
})
