import { execFile } from 'node:child_process'

/** Runs npm for the production dependencies: those that a bundle may contain. Returns what it prints, also when it fails. */
export const npm = (command: string, ...words: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const args = [command, '--json', '--loglevel=silent', '--package-lock-only', ...words]
    execFile('npm', args, { maxBuffer: 64_000_000 }, (error, stdout) => {
      if (stdout === '') reject(error ?? new Error(`npm ${command} printed nothing`))
      else resolve(stdout)
    })
  })
