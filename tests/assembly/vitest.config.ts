import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const FLOWS = ['invitations', 'reset-password', 'select-tenant', 'session', 'sessions', 'sign-in', 'verify-email']

/** Runs the contract tests against the synthesized assembly, and the tests of the assembly itself. */
export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  test: {
    name: 'assembly',
    globalSetup: ['tests/assembly/setup.ts'],
    setupFiles: ['tests/support/setup/documented.ts'],
    include: [
      'tests/assembly/*.test.ts',
      'tests/guarantees/contract/{access,bodies,credentials,fields,paths}.test.ts',
      `tests/functions/auth/{${FLOWS.join()}}.test.ts`,
      'tests/functions/deliver-mail/emails.test.ts',
      'tests/functions/members/*.test.ts',
      'tests/functions/vendor-accounts/vendor-accounts.test.ts',
    ],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    env: { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' },
    maxWorkers: 2,
  },
})
