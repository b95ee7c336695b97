import { readFile, writeFile } from 'node:fs/promises'

/**
 * Writes a generated file, unless it is up to date. With `--check` on the command line it writes nothing: it names the file and
 * the command that writes it, and the process exits with 1.
 */
export async function writeGenerated(path: string, text: string, command: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => null)) === text) return
  if (!process.argv.includes('--check')) return writeFile(path, text)
  console.error(`${path} is out of date. Run: ${command}`)
  process.exitCode = 1
}
