/** Functions to run at the end, last added first. */
export interface Cleanup {
  add(undo: () => void | Promise<void>): void
  /** Runs each function once, also if called again. One that fails does not stop the others. */
  run(): Promise<void>
}

/** Creates a cleanup that runs when it is called, and not by itself. */
export function createUndo(): Cleanup {
  const undos: (() => void | Promise<void>)[] = []
  let running: Promise<void> | undefined

  const undoAll = async () => {
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
      try {
        await undo()
      } catch (error) {
        console.error('cleanup failed:', error)
      }
    }
  }
  return { add: (undo) => void undos.push(undo), run: () => (running ??= undoAll()) }
}

/** Creates a cleanup that also runs on SIGINT and SIGTERM, and then ends the process. */
export function createCleanup(): Cleanup {
  const cleanup = createUndo()
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      // Ending the processes makes requests to them fail.
      process.removeAllListeners('uncaughtException').on('uncaughtException', () => {})
      void cleanup.run().then(() => process.exit(code))
    })
  }
  return cleanup
}
