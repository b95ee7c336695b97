import { afterAll, vi } from 'vitest'

// Files of one worker share its environment, clock and modules: each leaves them as they were.
afterAll(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  vi.useRealTimers()
  vi.restoreAllMocks()
})
