import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { EMPTY_FUNCTION } from './deploy.ts'
import { declaredFunctions, readAssembly } from './template.ts'

// The measured size and a seventh more. Raise a budget here when a function needs a new library.
const DEFAULT_MAX_KILOBYTES = 500
const MAX_KILOBYTES: Readonly<Record<string, number>> = {
  'audit-log': 380,
  'audit-sign-ins': 350,
  auth: 1560,
  authorize: 355,
  catalog: 630,
  'deliver-mail': 465,
  maintain: 350,
  measure: 350,
  members: 640,
  migrate: 495,
  'not-found': 370,
  openapi: 795,
  operate: 745,
  'probe-sign-in': 295,
  'publish-events': 380,
  'record-bounces': 350,
  'sync-catalog': 560,
  'vendor-accounts': 715,
  'verify-vendors': 550,
  web: 620,
}

/** The bytes that a start compiles: index.js and the files that it imports. The others are compiled when they are first needed. */
const DEFAULT_MAX_START_KILOBYTES = 175
const MAX_START_KILOBYTES: Readonly<Record<string, number>> = {
  // 180 kB before there was a second factor, which may add 5 kB.
  auth: 185,
  // The check of keys is 2 kB, in each group that a key may call.
  members: 180,
  operate: 190,
  'vendor-accounts': 215,
  'sync-catalog': 190,
  // The digests of what the migrations make.
  migrate: 245,
  'rotate-password': 230,
  // 253 kB before there was a second factor. It may add 14 kB, API keys 11 kB, and other pages 3 kB. The factor adds more: in exchange, the markup and the
  // texts of pages that few people open are compiled when somebody opens them.
  web: 281,
}

/** CPU time that a start may take, as a multiple of the median of all functions in the same run, each besides that of a function that does nothing. */
const MAX_START_CPU_RATIO = 2

// What `import()` compiles to.
const IMPORTED_AT_START = /(?<!then\(\(\)=>[\w$]+\()require\("\.\/([^"]+)"\)/g

/** Returns the files that a start of a bundle compiles. */
function filesAtStart(folder: string, file = 'index.js', found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  for (const [, imported = ''] of readFileSync(join(folder, file), 'utf8').matchAll(IMPORTED_AT_START))
    filesAtStart(folder, imported, found)
  return found
}

/** Returns the bytes of these files. */
const bytesIn = (folder: string, files: Iterable<string>): number =>
  [...files].reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

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
    kilobytes:
      bytesIn(
        declared.bundle,
        readdirSync(declared.bundle).filter((name) => name.endsWith('.js')),
      ) / 1000,
    startKilobytes: bytesIn(declared.bundle, filesAtStart(declared.bundle)) / 1000,
  }
})

const medianCpuMs = bundles.map(({ startCpuMs }) => startCpuMs).toSorted((a, b) => a - b)[bundles.length >> 1] ?? NaN

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
    expect(startCpuMs / medianCpuMs).toBeLessThan(MAX_START_CPU_RATIO)
  },
)
