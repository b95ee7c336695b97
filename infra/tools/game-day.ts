import { parseArgs } from 'node:util'
import { STAGES } from '#infra/stages.ts'
import { EXERCISES, printed } from './game-day/exercises.ts'
import { LOCAL_EXERCISES, runLocally } from './game-day/local.ts'

const USAGE = `Usage: npm run game-day -- --dry-run --stage STAGE [EXERCISE]
Prints the commands of each exercise of infra/runbook/recovery.md, "Game day". It runs none: you do, one at a time.
Exercises: ${EXERCISES.map(({ name }) => name).join(', ')}

Usage: npm run game-day -- --local [EXERCISE]
Runs exercises against the local stack (npm start), with a clock. Exits with 1 when one does not show what it should.
Exercises: ${LOCAL_EXERCISES.map(({ name }) => name).join(', ')}`

const { values, positionals } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, local: { type: 'boolean' }, stage: { type: 'string' } },
  allowPositionals: true,
})
const [name, ...more] = positionals
const isChosen = (each: { name: string }): boolean => name === undefined || each.name === name
const [chosen, local] = [EXERCISES.filter(isChosen), LOCAL_EXERCISES.filter(isChosen)]
const { stage = '' } = values
if (values.local === true && local.length > 0 && more.length === 0) {
  process.exitCode = (await runLocally(local, console.log)) ? 0 : 1
} else if (values['dry-run'] !== true || !(stage in STAGES) || chosen.length === 0 || more.length > 0) {
  console.error(USAGE)
  process.exitCode = 2
} else {
  console.log(printed(chosen, stage))
}
