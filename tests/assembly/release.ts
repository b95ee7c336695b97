import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Version } from './aliases.ts'
import type { AssembledService } from './service.ts'
import { type Assembly, bundleOf, declaredFunctions, ofType } from './template.ts'

/** What the next release has that this one lacks. */
export interface Changes {
  /** The texts of further migrations. Their numbers follow. */
  readonly migrations: readonly string[]
  /** By the function's name, without the prefix of the stage: a part of its bundle, which is there once, and what replaces it. */
  readonly edits?: Readonly<Record<string, readonly [part: string | RegExp, replacement: string]>>
}

/** As CodeDeploy's configuration of a stage, CANARY_10PERCENT_5MINUTES. */
const CANARY_PERCENT = 10

let releases = 0

/** Makes another release of a stage, with copies of the bundles that change. Names the migrations that it adds. */
export async function nextRelease(
  assembly: Assembly,
  { migrations, edits = {} }: Changes,
): Promise<Assembly & { readonly added: readonly string[] }> {
  releases += 1
  const resources = structuredClone(assembly.resources) as Record<string, any>
  const added: string[] = []
  for (const { id, name } of declaredFunctions(assembly).values()) {
    const short = name.split('-').slice(2).join('-')
    const edit = edits[short]
    const isMigrate = short === 'migrate'
    if (edit === undefined && !isMigrate) continue
    const { Code } = resources[id].Properties
    const from = bundleOf(assembly, Code)
    // Another file of tests may make releases of the same assembly in another process.
    const to = `${from.replace(/-release[\d-]+$/, '')}-release${process.pid}-${releases}`
    await cp(from, to, { recursive: true })
    Code.S3Key = basename(to).replace('asset.', '')
    if (edit !== undefined) await replaceOnce(to, ...edit)
    if (!isMigrate) continue
    const folder = join(to, 'migrations')
    const last = Number(
      (await readdir(folder))
        .filter((file) => file.endsWith('.sql'))
        .toSorted()
        .at(-1)
        ?.slice(0, 4),
    )
    for (const [index, text] of migrations.entries()) {
      const file = `${String(last + 1 + index).padStart(4, '0')}-next.sql`
      await writeFile(join(folder, file), text)
      added.push(file)
    }
  }
  const other = JSON.stringify(resources)
  // The CDK names a version by its content. A change in shared/ changes that of every function.
  const renamed = ofType(assembly, 'AWS::Lambda::Version').reduce(
    (text, [id]) => text.replaceAll(`"${id}"`, `"${id.replace(/Release\d+$/, '')}Release${releases}"`),
    other,
  )
  return { folder: assembly.folder, resources: JSON.parse(renamed), added }
}

async function replaceOnce(folder: string, part: string | RegExp, replacement: string): Promise<void> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.js')).map((name) => join(folder, name))
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  const found = texts.reduce((sum, text) => sum + text.split(part).length - 1, 0)
  if (found !== 1) throw new Error(`${folder} has ${part} ${found} times`)
  await Promise.all(files.map((file, index) => writeFile(file, texts[index]?.replace(part, replacement) ?? '')))
}

/** What happens while 10 % of the invocations go to the new versions. */
export type Canary = (next: Version) => Promise<'keep' | 'alarm'>

/**
 * Deploys a release to a stage in the runbook's order: migrations, functions, traffic. Without a canary the traffic moves at once,
 * as with `-c canary=off`. Rolls back as CloudFormation does. Returns the cause of that, or null.
 */
export async function deployRelease(
  { aliases, migrate }: Pick<AssembledService, 'aliases' | 'migrate'>,
  release: Assembly,
  canary?: Canary,
): Promise<string | null> {
  const before = aliases.stable
  try {
    await migrate(release, before.release)
    const next = aliases.publish(release)
    if (canary !== undefined) {
      aliases.route(next, CANARY_PERCENT)
      if ((await canary(next)) === 'alarm') throw new Error('an alarm went off')
    }
    aliases.route(next, 100)
    return null
  } catch (error) {
    aliases.route(before, 100)
    await migrate(before.release, release)
    return String(error)
  }
}
