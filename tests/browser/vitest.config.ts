import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Runs the pages in a real Chromium, on a stack of their own. One worker: all files share the browser and the stack. */
export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  test: {
    name: 'browser',
    include: ['tests/browser/*.test.ts'],
    globalSetup: ['tests/browser/setup.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
  },
})
