import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { EMPTY_FUNCTION } from './deploy.ts'
import { declaredFunctions, readAssembly } from './template.ts'

// The measured size and a seventh more. Raise a budget here when a function needs a new library.
const DEFAULT_MAX_KILOBYTES = 500
const MAX_KILOBYTES: Readonly<Record<string, number>> = {
  'audit-log': 380,
  'audit-sign-ins': 350,
  auth: 1200,
  authorize: 355,
  catalog: 630,
  'deliver-mail': 465,
  maintain: 350,
  measure: 350,
  members: 640,
  migrate: 410,
  'not-found': 370,
  openapi: 690,
  operate: 620,
  'probe-sign-in': 295,
  'publish-events': 380,
  'record-bounces': 350,
  'sync-catalog': 560,
  'vendor-accounts': 715,
  'verify-vendors': 550,
  web: 540,
}

/** The bytes of index.js, which a start compiles. The other files are compiled when they are first needed. */
const DEFAULT_MAX_START_KILOBYTES = 160
const MAX_START_KILOBYTES: Readonly<Record<string, number>> = {
  // 23 kB of it are the routes of the second factor.
  auth: 200,
  'vendor-accounts': 180,
  members: 165,
  // The digests of what the migrations make.
  migrate: 215,
  // What the pages may have at most, besides the AWS SDK.
  web: 250,
}

/** CPU time that a start may take besides that of a function that does nothing. */
const MAX_START_CPU_MS = 80

/** Returns the bytes of all files of a bundle, of which a start reads index.js. */
const bytesOf = (folder: string): number =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

const run = inject('assembly')
const NONE = { ms: NaN, cpuMs: NaN }
const empty = run?.inits[EMPTY_FUNCTION] ?? NONE
const bundles = [...declaredFunctions(readAssembly(run?.folder ?? '', run?.stage ?? '')).values()].map((declared) => {
  const name = declared.name.replace(`tenantry-${run?.stage}-`, '')
  const { ms, cpuMs } = run?.inits[declared.name] ?? NONE
  return {
    name,
    ms,
    startCpuMs: cpuMs - empty.cpuMs,
    kilobytes: bytesOf(declared.bundle) / 1000,
    startKilobytes: statSync(join(declared.bundle, 'index.js')).size / 1000,
  }
})

it('has a bundle for every budget, and prints all sizes and starts', () => {
  const row = (name: string, ...numbers: readonly (string | number)[]): string =>
    [name.padEnd(18), ...numbers.map((text) => String(text).padStart(8))].join('')
  const rows = bundles.map(({ name, ms, startCpuMs, kilobytes, startKilobytes }) =>
    row(name, kilobytes.toFixed(0), startKilobytes.toFixed(0), (ms - empty.ms).toFixed(0), startCpuMs.toFixed(0)),
  )
  console.log([row('bundle', 'kB', 'at start', 'ms', 'cpu ms'), ...rows].join('\n'))
  expect(bundles.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(MAX_KILOBYTES)))
})

it.each(bundles)(
  'keeps the bundle $name within its bytes, and its start within its CPU time',
  ({ name, startCpuMs, kilobytes, startKilobytes }) => {
    expect(kilobytes).toBeLessThan(MAX_KILOBYTES[name] ?? DEFAULT_MAX_KILOBYTES)
    expect(startKilobytes).toBeLessThan(MAX_START_KILOBYTES[name] ?? DEFAULT_MAX_START_KILOBYTES)
    expect(startCpuMs).toBeLessThan(MAX_START_CPU_MS)
  },
)
