import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { EMPTY_FUNCTION } from './deploy.ts'
import { declaredFunctions, readAssembly } from './template.ts'

// Measured, and a seventh more: whoever brings a library into a function sees what it weighs, and says so here.
const MOST_KILOBYTES_OF_A_NEW_ONE = 720
const MOST_KILOBYTES: Readonly<Record<string, number>> = {
  'audit-log': 700,
  auth: 1250,
  catalog: 700,
  'deliver-mail': 580,
  health: 690,
  maintain: 500,
  measure: 500,
  members: 710,
  migrate: 490,
  openapi: 800,
  operate: 640,
  'vendor-accounts': 790,
  'verify-vendors': 580,
}

/** Times the processor's time of a start that does nothing; measured from 1.5 to 1.75. */
const COSTLIEST_START = 2.1

const run = inject('assembly')
const NONE = { ms: NaN, cpuMs: NaN }
const empty = run?.inits[EMPTY_FUNCTION] ?? NONE
const bundles = [...declaredFunctions(readAssembly(run?.folder ?? '', run?.stage ?? '')).values()].map((declared) => {
  const name = declared.name.replace(`tenantry-${run?.stage}-`, '')
  const { ms, cpuMs } = run?.inits[declared.name] ?? NONE
  return { name, ms, cpuMs, kilobytes: statSync(join(declared.bundle, 'index.mjs')).size / 1000 }
})

it('every budget is of a bundle', () => {
  const row = (name: string, ...numbers: readonly (string | number)[]): string =>
    [name.padEnd(18), ...numbers.map((text) => String(text).padStart(8))].join('')
  const rows = bundles.map(({ name, ms, cpuMs, kilobytes }) =>
    row(name, kilobytes.toFixed(0), ms.toFixed(0), cpuMs.toFixed(0), (cpuMs / empty.cpuMs).toFixed(2)),
  )
  const nothing = row('(nothing)', 0, empty.ms.toFixed(0), empty.cpuMs.toFixed(0), 1)
  console.log([row('bundle', 'kB', 'init ms', 'cpu ms', 'times'), ...rows, nothing].join('\n'))
  expect(bundles.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(MOST_KILOBYTES)))
})

it.each(bundles)('$name is within its bytes, and starts in time', ({ name, cpuMs, kilobytes }) => {
  expect(kilobytes).toBeLessThan(MOST_KILOBYTES[name] ?? MOST_KILOBYTES_OF_A_NEW_ONE)
  expect(cpuMs / empty.cpuMs).toBeLessThan(COSTLIEST_START)
})
