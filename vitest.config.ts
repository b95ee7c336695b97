import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    globalSetup: ['tests/setup/cluster.ts'],
    setupFiles: ['tests/setup/documented.ts'],
    // Some tests measure time, and a shared machine disturbs one of them now and then. What is broken fails twice.
    retry: process.env['CI'] === undefined ? 0 : 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    env: { POWERTOOLS_LOG_LEVEL: 'SILENT' },
    maxWorkers: 2,
  },
})
