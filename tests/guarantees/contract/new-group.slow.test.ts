import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { EDITS } from './new-group/edits.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const EXAMPLE = join(ROOT, 'tests/guarantees/contract/new-group')

/** The files that a person writes or edits for each task of functions/README.md. A migration counts for each task that needs it. */
const TASKS: Readonly<Record<string, { readonly most: number; readonly files: RegExp }>> = {
  'a route group with a permission of its own': {
    most: 10,
    files: /^migrations|^(tests\/)?functions\/(api\/)?tags\/|audit\/actions\.ts$|identity\/permissions\.ts$/,
  },
  'a permission': { most: 2, files: /^migrations|permissions\.ts$/ },
  'a kind of job with its worker': {
    most: 5,
    files: /^migrations|^(tests\/)?functions\/(workers\/)?count-words|queue\/kinds/,
  },
  'a worker that deletes old rows': { most: 5, files: /^migrations|^tests\/guarantees\/|delete-old-tags/ },
  'a SECURITY DEFINER function': { most: 2, files: /^migrations|^tests\/guarantees\// },
  'a page': { most: 6, files: /web\/(pages|texts)\/tags|web\/http\/pages\.ts|texts\/texts|tests\/functions\/web/ },
  'a setting': { most: 2, files: /^shared\/base\/config/ },
  'the title of a problem': { most: 1, files: /^shared\/base\/problem/ },
}

// The commands of functions/README.md.
const WRITES = ['openapi', 'grants', 'settings', 'cost', 'format']
const CHECK = 'check'
const TESTS = [
  'tests/functions/tags',
  'tests/functions/count-words',
  'tests/functions/delete-old-tags',
  'tests/functions/web',
  'tests/guarantees/contract',
  'tests/guarantees/isolation',
  'tests/shared/doctor',
]

/** Returns the files of the example, as paths in the project. */
async function exampleFiles(): Promise<string[]> {
  const files = await readdir(EXAMPLE, { recursive: true, withFileTypes: true })
  return files
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name).slice(EXAMPLE.length + 1))
    .filter((file) => file !== 'edits.ts')
}

/** Copies the working tree, and does in the copy what a person does by hand. */
async function copyWithNewGroup(): Promise<string> {
  const tree = await mkdtemp(join(tmpdir(), 'tenantry-new-group-'))
  onTestFinished(() => rm(tree, { recursive: true, force: true }))
  const words = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { stdout } = await promisify(execFile)('git', words, { cwd: ROOT, maxBuffer: 2 ** 24 })
  for (const file of stdout.split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)))) {
    await mkdir(dirname(join(tree, file)), { recursive: true })
    await cp(join(ROOT, file), join(tree, file))
  }
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  const migrations = (await readdir(join(tree, 'migrations'))).filter((name) => name.endsWith('.sql')).toSorted()
  const number = String(Number.parseInt(migrations.at(-1) ?? '', 10) + 1).padStart(4, '0')
  for (const file of await exampleFiles()) {
    const copy = join(tree, file.replace('migrations/', `migrations/${number}-`))
    await mkdir(dirname(copy), { recursive: true })
    await cp(join(EXAMPLE, file), copy)
  }
  for (const edit of EDITS) {
    const path = join(tree, edit.file)
    const text = await readFile(path, 'utf8')
    const [found, by] =
      'before' in edit ? [`\n${edit.before}`, `\n${edit.line}\n${edit.before}`] : [edit.replace, edit.by]
    if (!text.includes(found)) throw new Error(`${edit.file} has no longer: ${found}`)
    await writeFile(
      path,
      text.replace(found, () => by),
    )
  }
  return tree
}

it('needs few files by hand for each task', async () => {
  const files = new Set([...(await exampleFiles()), ...EDITS.map(({ file }) => file)])
  for (const [task, { most, files: ofTask }] of Object.entries(TASKS)) {
    const counted = [...files].filter((file) => ofTask.test(file))
    expect(counted, task).not.toEqual([])
    expect(counted.length, `${task}: ${counted.join(' ')}`).toBeLessThanOrEqual(most)
  }
  const ofTasks = Object.values(TASKS).map(({ files: ofTask }) => ofTask)
  expect([...files].filter((file) => !ofTasks.some((ofTask) => ofTask.test(file)))).toEqual([])
})

it('needs no other edit for a group, a permission, a function, a job, a page, a setting and a title: every command is green', {
  timeout: 1_200_000,
}, async () => {
  const tree = await copyWithNewGroup()
  const { PATH, HOME } = process.env
  const run = (...words: string[]) =>
    promisify(execFile)('npm', words, { cwd: tree, env: { PATH, HOME }, maxBuffer: 2 ** 26 }).then(
      () => '',
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `npm ${words.join(' ')}\n${stdout}\n${stderr}`,
    )
  for (const script of [...WRITES, CHECK]) expect(await run('run', script)).toBe('')
  expect(await run('test', '--', '--maxWorkers=2', ...TESTS)).toBe('')
  expect(await run('run', 'test:stages')).toBe('')
})
