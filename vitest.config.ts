import { defineConfig } from 'vitest/config'

// Tests that measure time: npm run test:timing.
const TIMING = 'tests/**/*.timing.*'
// Tests that take minutes: npm run test:slow.
const SLOW = 'tests/**/*.slow.*'
// Tests that `npm test` runs with few rounds and one variant: npm run test:slow runs all of them.
const ROUNDS = [
  'tests/guarantees/races/*.test.ts',
  'tests/guarantees/faults/{cache,postgres}.test.ts',
  'tests/guarantees/isolation/{guarantees,http}.test.ts',
  'tests/functions/deals/exactness.test.ts',
  'tests/functions/web/{between-pages,days}.test.ts',
]
// Tests of the templates of the stages: npm run test:stages.
const STAGES = 'tests/infra/aws/**'
// Tests in a real browser: npm run test:browser.
const BROWSER = 'tests/browser/**'
// Tests of the synthesized assembly: npm run test:assembly.
const ASSEMBLY = 'tests/assembly/**'
// Tests that replace a module, or read settings while they load one: each gets its own modules.
const ISOLATED = 'tests/**/*.isolated.test.ts'
// Tests of the example group, which run in a copy of the project.
const NEW_GROUP = 'tests/guarantees/contract/new-group/**'

export default defineConfig({
  test: {
    globalSetup: ['tests/support/setup/cluster.ts'],
    setupFiles: ['tests/support/setup/documented.ts', 'tests/support/setup/restored.ts'],
    // The libraries that `npm run bench:peers` installs have tests of their own.
    exclude: ['**/node_modules/**'],
    // Several times what the longest test takes on two free cores, so that a busy machine fails none.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // Fewer collections of short-lived objects.
    execArgv: ['--max-semi-space-size=64'],
    provide: { thorough: false },
    env: { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' },
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          include: ['tests/**/*.test.ts'],
          exclude: [TIMING, SLOW, STAGES, BROWSER, ASSEMBLY, NEW_GROUP, ISOLATED],
          // Twice the cores of a small machine: a worker often waits for Postgres, or for a part that hangs.
          maxWorkers: 4,
          // A worker loads each module once for all its files, which saves a third of the time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'main-isolated', include: [ISOLATED], maxWorkers: 4 },
      },
      {
        extends: true,
        test: {
          name: 'stages',
          include: [`${STAGES}/*.test.ts`],
          exclude: [SLOW],
          maxWorkers: 2,
          // A worker synthesizes each stage once for all its files.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: [`${SLOW}test.ts`, ...ROUNDS],
          maxWorkers: 3,
          provide: { thorough: true },
        },
      },
      // One file at a time, so that nothing of ours runs beside a measurement.
      {
        extends: true,
        test: { name: 'timing', include: [`${TIMING}test.ts`], maxWorkers: 1, testTimeout: 300_000 },
      },
    ],
  },
})
