/** What is to be undone at the end, the last first. */
export interface Cleanup {
  add(undo: () => void | Promise<void>): void
  /** Undoes everything, once, however often it is called. An undo that fails does not stop the others. */
  run(): Promise<void>
}

/** A cleanup that also runs, and then ends the process, on Ctrl-C and on SIGTERM. */
export function createCleanup(): Cleanup {
  const undos: (() => void | Promise<void>)[] = []
  let running: Promise<void> | undefined

  const undoAll = async () => {
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
      try {
        await undo()
      } catch (error) {
        console.error('cleaning up failed:', error)
      }
    }
  }
  const run = () => (running ??= undoAll())

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      // What the end of the processes makes fail now is of no interest.
      process.removeAllListeners('uncaughtException').on('uncaughtException', () => {})
      void run().then(() => process.exit(code))
    })
  }
  return { add: (undo) => void undos.push(undo), run }
}
