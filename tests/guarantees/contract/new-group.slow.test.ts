import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const EXAMPLE = join(ROOT, 'tests/guarantees/contract/new-group')
const TESTS = ['tests/functions/tags', 'tests/guarantees/contract', 'tests/guarantees/isolation', 'tests/shared/doctor']
const TEMPLATES = ['api', 'function', 'grants', 'jobs', 'network', 'release'].map(
  (name) => `tests/infra/aws/${name}.test.ts`,
)

/** Copies the working tree, and adds the new group's folder and its migration under the next number. */
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
  const last = (await readdir(join(tree, 'migrations')))
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .at(-1)
  const number = String(Number.parseInt(last ?? '', 10) + 1).padStart(4, '0')
  for (const folder of ['functions/tags', 'tests/functions/tags']) {
    await cp(join(EXAMPLE, folder), join(tree, folder), { recursive: true })
  }
  await cp(join(EXAMPLE, 'migrations/tags.sql'), join(tree, `migrations/${number}-tags.sql`))
  return tree
}

it('needs one folder and one migration for a new route group, and no edit elsewhere', {
  timeout: 600_000,
}, async () => {
  const tree = await copyWithNewGroup()
  const { PATH, HOME } = process.env
  const run = (...words: string[]) =>
    promisify(execFile)('npm', words, { cwd: tree, env: { PATH, HOME }, maxBuffer: 2 ** 26 }).then(
      () => '',
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `npm ${words.join(' ')}\n${stdout}\n${stderr}`,
    )
  for (const script of ['openapi', 'grants', 'types', 'lint', 'lint:migrations', 'unused', 'openapi:lint']) {
    expect(await run('run', script)).toBe('')
  }
  expect(await run('test', '--', '--maxWorkers=2', ...TESTS)).toBe('')
  expect(await run('run', 'test:stages', '--', ...TEMPLATES)).toBe('')
})
