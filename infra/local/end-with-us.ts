import { spawn } from 'node:child_process'

/** Sends `signal` to `pid` when this process exits, even after SIGKILL. Returns a function that cancels it. */
export function endWithUs(pid: number, signal: 'INT' | 'KILL'): () => void {
  // The shell reads a pipe from this process, which the kernel closes at any exit. No signal handler sees a SIGKILL.
  const watch = spawn('/bin/sh', ['-c', `read -r _; kill -${signal} ${pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return () => watch.kill('SIGKILL')
}
