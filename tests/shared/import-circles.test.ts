import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
const IMPORT = /\b(?:from|import) ?\(?'([^']+)'/g

/** Returns every import in a folder, types among them, as the path of the file and what it imports. */
async function importsIn(folder: string): Promise<{ file: string; imported: string }[]> {
  const names = await readdir(new URL(folder, ROOT), { recursive: true })
  const files = names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`)
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, ROOT), 'utf8')))
  return files.flatMap((file, index) =>
    Array.from((texts[index] ?? '').matchAll(IMPORT), ([, imported = '']) => ({ file, imported })),
  )
}

/** Returns the nodes of one circle, or null when there is none. */
function circleIn(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const visited = new Set<string>()
  const visit = (node: string, path: readonly string[]): string[] | null => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (visited.has(node)) return null
    visited.add(node)
    for (const next of edges.get(node) ?? []) {
      const circle = visit(next, [...path, node])
      if (circle !== null) return circle
    }
    return null
  }
  for (const node of edges.keys()) {
    const circle = visit(node, [])
    if (circle !== null) return circle
  }
  return null
}

/** Returns which folders and files at the top of shared/ import which others. */
function edgesOf(imports: readonly { file: string; imported: string }[]): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>()
  for (const { file, imported } of imports) {
    const [, from = ''] = file.split('/')
    const [root, to = ''] = imported.split('/')
    if (root === '#shared' && to !== from) edges.set(from, (edges.get(from) ?? new Set()).add(to))
  }
  return edges
}

it('finds no circle of imports among the folders and files of shared/', async () => {
  const edges = edgesOf(await importsIn('shared'))
  expect(edges.size).toBeGreaterThan(10)
  expect(circleIn(edges)).toBeNull()
  const planted = { file: 'shared/schema/planted.ts', imported: '#shared/http/reply.ts' }
  expect(circleIn(edgesOf([...(await importsIn('shared')), planted]))).toContain('schema')
})

// More is not forbidden. It is to be noticed: a new room or arrow is a decision, and the number here is its place.
it('keeps shared/ at 18 rooms and 57 arrows between them', async () => {
  const edges = edgesOf(await importsIn('shared'))
  const entries = await readdir(new URL('shared', ROOT), { withFileTypes: true })
  const loose = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  expect(loose).toEqual(['README.md'])
  expect(entries.length - loose.length).toBe(18)
  expect([...edges.values()].reduce((sum, { size }) => sum + size, 0)).toBe(57)
})

it('has no file of more than 300 lines that does not say why at its top', async () => {
  const folders = ['functions', 'shared', 'infra', 'migrations', 'packages/guard/src']
  const names = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(new URL(folder, ROOT), { recursive: true })).map((name) => `${folder}/${name}`),
    ),
  )
  const long: string[] = []
  for (const file of names.flat().filter((name) => /\.(ts|sql)$/.test(name) && !name.includes('node_modules'))) {
    const lines = (await readFile(new URL(file, ROOT), 'utf8')).trimEnd().split('\n')
    if (lines.length > 300 && !lines.slice(0, 10).join('\n').includes('more than 300 lines')) long.push(file)
  }
  expect(long).toEqual([])
})
