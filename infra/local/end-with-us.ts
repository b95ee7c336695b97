import { spawn } from 'node:child_process'

/** Sees to it that a process gets `signal` when ours has ended, however it ended. Returns how to call that off. */
export function endWithUs(pid: number, signal: 'INT' | 'KILL'): () => void {
  // The watch's input ends with us even at a SIGKILL, which no handler of ours would see.
  const watch = spawn('/bin/sh', ['-c', `read -r _; kill -${signal} ${pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return () => watch.kill('SIGKILL')
}
