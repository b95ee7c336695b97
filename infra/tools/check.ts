import { spawnSync } from 'node:child_process'

/** The checks of `npm run check`: scripts of package.json with their arguments. */
const CHECKS = [
  'format:check',
  'lint',
  'lint:migrations',
  'types',
  'unused',
  'openapi -- --check',
  'settings -- --check',
  'grants -- --check',
  'runbook -- --check',
  'cost -- --check',
  'openapi:lint',
]

/** Runs each command in a shell, also after one that failed. Writes the output of those that fail, and returns them. */
export const failing = (commands: readonly string[], write: (text: string) => void): string[] =>
  commands.filter((command) => {
    const { status, stdout, stderr } = spawnSync(command, { shell: true, encoding: 'utf8', maxBuffer: 2 ** 26 })
    if (status !== 0) write(`${stdout}${stderr}`)
    return status !== 0
  })

if (import.meta.main) {
  const commands = CHECKS.map((check) => `npm run --silent ${check}`)
  const failed = failing(commands, (text) => process.stderr.write(text))
  for (const command of failed) console.error(`FAILED: ${command}`)
  if (failed.length > 0) process.exitCode = 1
}
