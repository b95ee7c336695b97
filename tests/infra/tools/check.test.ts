import { expect, it } from 'vitest'
import { failing } from '#infra/tools/check.ts'

it('runs each check though one before it fails, and shows the output of all that fail', () => {
  const shown: string[] = []
  const commands = ['echo first; exit 1', 'echo second', 'echo third >&2; exit 2', 'no-such-program']
  expect(failing(commands, (text) => shown.push(text))).toEqual([commands[0], commands[2], commands[3]])
  expect(shown.join('')).toMatch(/^first\nthird\n.*not found/)
})
