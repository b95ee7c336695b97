import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { EMPTY_FUNCTION } from './deploy.ts'
import { declaredFunctions, readAssembly } from './template.ts'

// The measured size and a seventh more. Raise a budget here when a function needs a new library.
const DEFAULT_MAX_KILOBYTES = 590
const MAX_KILOBYTES: Readonly<Record<string, number>> = {
  'audit-log': 570,
  auth: 1115,
  authorize: 315,
  catalog: 570,
  'deliver-mail': 415,
  health: 560,
  maintain: 310,
  measure: 310,
  members: 585,
  migrate: 330,
  'not-found': 560,
  openapi: 720,
  operate: 530,
  'sync-catalog': 560,
  'vendor-accounts': 660,
  'publish-events': 335,
  'verify-vendors': 505,
  // 250 besides the AWS SDK, which takes 260.
  web: 510,
}

/** CPU time of a start, as a multiple of that of a function that does nothing. Measured: 1.4 to 1.7. */
const MAX_START_COST = 2.1

const run = inject('assembly')
const NONE = { ms: NaN, cpuMs: NaN }
const empty = run?.inits[EMPTY_FUNCTION] ?? NONE
const bundles = [...declaredFunctions(readAssembly(run?.folder ?? '', run?.stage ?? '')).values()].map((declared) => {
  const name = declared.name.replace(`tenantry-${run?.stage}-`, '')
  const { ms, cpuMs } = run?.inits[declared.name] ?? NONE
  return { name, ms, cpuMs, kilobytes: statSync(join(declared.bundle, 'index.mjs')).size / 1000 }
})

it('has a bundle for every budget, and prints all sizes and starts', () => {
  const row = (name: string, ...numbers: readonly (string | number)[]): string =>
    [name.padEnd(18), ...numbers.map((text) => String(text).padStart(8))].join('')
  const rows = bundles.map(({ name, ms, cpuMs, kilobytes }) =>
    row(name, kilobytes.toFixed(0), ms.toFixed(0), cpuMs.toFixed(0), (cpuMs / empty.cpuMs).toFixed(2)),
  )
  const nothing = row('(nothing)', 0, empty.ms.toFixed(0), empty.cpuMs.toFixed(0), 1)
  console.log([row('bundle', 'kB', 'init ms', 'cpu ms', 'times'), ...rows, nothing].join('\n'))
  expect(bundles.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(MAX_KILOBYTES)))
})

it.each(bundles)(
  'keeps the bundle $name within its bytes, and its start within its CPU time',
  ({ name, cpuMs, kilobytes }) => {
    expect(kilobytes).toBeLessThan(MAX_KILOBYTES[name] ?? DEFAULT_MAX_KILOBYTES)
    expect(cpuMs / empty.cpuMs).toBeLessThan(MAX_START_COST)
  },
)
