import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'

const README = fileURLToPath(new URL('README.md', import.meta.url))
const LOCAL = fileURLToPath(new URL('../../.local/', import.meta.url))

/** The load of the machine before the benchmark adds its own. */
const [LOAD_BEFORE = Number.NaN] = loadavg()

/** Describes the machine, and how busy it was when this process started. */
export function describeMachine() {
  const [cpu] = cpus()
  return {
    node: process.version,
    platform: process.platform,
    cpus: cpus().length,
    cpu: cpu?.model ?? 'unknown',
    loadBefore: LOAD_BEFORE,
  }
}

/** Returns the line under a table: when and where it was measured, with these versions and options. */
export function provenance(versions: string, options: object): string {
  const { node, cpus, cpu, loadBefore } = describeMachine()
  const day = new Date().toISOString().slice(0, 10)
  const given = Object.entries(options).map(([name, value]) => format('%s %s', value, name))
  return `Measured on ${day} with Node ${node}, ${versions}: ${cpus} cores (${cpu}), load ${loadBefore.toFixed(1)} before it; ${given.join(', ')}.`
}

/** Writes all measurements to .local/NAME.json. Returns the path. */
export async function saveMeasurements(name: string, measurements: object): Promise<string> {
  await mkdir(LOCAL, { recursive: true })
  const report = { at: new Date().toISOString(), machine: describeMachine(), ...measurements }
  await writeFile(`${LOCAL}${name}.json`, `${JSON.stringify(report, null, 2)}\n`)
  return `${LOCAL}${name}.json`
}

/** Replaces what README.md of this folder has between the marks of this section. */
export async function writeInReadme(section: string, text: string): Promise<void> {
  const readme = await readFile(README, 'utf8')
  const [begin, end] = [`<!-- ${section} -->`, `<!-- /${section} -->`]
  const [before, after] = [readme.split(begin)[0], readme.split(end)[1]]
  if (before === undefined || after === undefined) throw new Error(`README.md has no section ${section}`)
  await writeFile(README, `${before}${begin}\n${text}\n${end}${after}`)
}

/** Returns a table of Markdown, the first column aligned left, the others right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, at) => (at === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n')
}

/** Returns a number with a sensible number of digits, or a dash if there is none. */
export function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–'
  if (value >= 100) return String(Math.round(value))
  return value.toFixed(value >= 10 ? 1 : 2)
}
