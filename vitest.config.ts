import { defineConfig } from 'vitest/config'

const MEASURING = 'tests/**/*.alone.*'
// Longer ones: npm run test:proofs.
const PROOFS = 'tests/**/*.proof.*'
// Of the synthesized assembly: npm run test:assembly.
const ASSEMBLY = 'tests/assembly/**'

export default defineConfig({
  test: {
    globalSetup: ['tests/setup/cluster.ts'],
    setupFiles: ['tests/setup/documented.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    env: { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' },
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['tests/**/*.test.ts'],
          exclude: [MEASURING, PROOFS, ASSEMBLY],
          maxWorkers: 2,
        },
      },
      { extends: true, test: { name: 'proofs', include: [`${PROOFS}test.ts`], maxWorkers: 2 } },
      // What measures comes afterwards, one file at a time, with nothing of ours beside it.
      {
        extends: true,
        test: {
          name: 'alone',
          include: [`${MEASURING}test.ts`],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          testTimeout: 300_000,
        },
      },
    ],
  },
})
