export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

type Output = Pick<Console, 'log' | 'error'>

/** Runs a command line of `infra/tools/` in this process, which spares the start of another. */
export async function runCommandLine(run: (output: Output) => Promise<number>): Promise<Finished> {
  const written = { log: '', error: '' }
  const to = (stream: keyof typeof written) => (text: string) => {
    written[stream] += `${text}\n`
  }
  const code = await run({ log: to('log'), error: to('error') })
  return { code, stdout: written.log, stderr: written.error }
}
