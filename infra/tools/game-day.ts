import { parseArgs } from 'node:util'
import { STAGES } from '#infra/stages.ts'
import { EXERCISES, printed } from './game-day/exercises.ts'

const USAGE = `Usage: npm run game-day -- --dry-run --stage STAGE [EXERCISE]
Prints the commands of each exercise of infra/runbook/recovery.md, "Game day". It runs none: you do, one at a time.
Exercises: ${EXERCISES.map(({ name }) => name).join(', ')}`

const { values, positionals } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, stage: { type: 'string' } },
  allowPositionals: true,
})
const [name, ...more] = positionals
const chosen = EXERCISES.filter((each) => name === undefined || each.name === name)
const { stage = '' } = values
if (values['dry-run'] !== true || !(stage in STAGES) || chosen.length === 0 || more.length > 0) {
  console.error(USAGE)
  process.exitCode = 2
} else {
  console.log(printed(chosen, stage))
}
