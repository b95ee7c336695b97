import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { commitOf } from '#infra/commit.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-commit-'))
  await mkdir(join(folder, 'shared'))
})
afterAll(() => rm(folder, { recursive: true }))

const git = (...words: string[]) =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b.test', ...words], { encoding: 'utf8' })
const write = (file: string, text: string) => writeFile(join(folder, file), text)
async function commit(file: string, text: string): Promise<string> {
  await write(file, text)
  git('add', '.')
  git('commit', '-q', '-m', file)
  return git('rev-parse', 'HEAD').slice(0, 12)
}

it('is unknown outside of a repository, and in one without a commit', () => {
  expect(commitOf(folder)).toBe('unknown')
  expect(commitOf('/no/such/folder')).toBe('unknown')
  git('init', '-q')
  expect(commitOf(folder)).toBe('unknown')
})

it('is the last commit that changed what is deployed, and says when a file differs from it', async () => {
  const first = await commit('shared/one.ts', '1')
  expect(commitOf(folder)).toBe(first)
  await commit('shared/README.md', 'a page')
  await commit('notes.ts', 'a file of no function')
  expect(commitOf(folder)).toBe(first)
  await write('shared/README.md', 'another page')
  expect(commitOf(folder)).toBe(first)
  await write('shared/one.ts', '2')
  expect(commitOf(folder)).toBe(`${first}-changed`)
  expect(commitOf(folder)).not.toBe(await commit('shared/one.ts', '3'))
  await write('shared/two.ts', 'a new file')
  expect(commitOf(folder)).toMatch(/-changed$/)
})
