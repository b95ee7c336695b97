import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { StackInfo } from '#infra/local/stack.ts'
import { STACK_ENV } from './stack-env.ts'
import { removeFolder, start, stateFolder, stop } from '#tests/support/stack-process.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly stack: StackInfo
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await stateFolder()
  const started = await start(join(folder, 'state'), { env: STACK_ENV })
  project.provide('stack', started.info)
  return async () => {
    await stop(started)
    await removeFolder(folder)
  }
}
