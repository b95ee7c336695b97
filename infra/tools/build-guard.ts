import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { build } from 'esbuild'

const ROOT = join(import.meta.dirname, '../..')
const GUARD = join(ROOT, 'packages/guard')
const CONSTRUCTS = join(ROOT, 'infra/consumer.ts')
const MODULES = ['--module', 'nodenext', '--target', 'es2024', '--declaration', '--skipLibCheck', '--strict']

const { values } = parseArgs({ options: { out: { type: 'string', default: join(GUARD, 'dist') } } })
const { out } = values

/** Runs the TypeScript compiler without the settings of this repository. */
const compile = (...args: string[]) =>
  promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['--ignoreConfig', '--types', 'node', ...MODULES, ...args], {
    cwd: ROOT,
  })

interface Manifest {
  readonly exports: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>
}

const manifest: Manifest = JSON.parse(await readFile(join(GUARD, 'package.json'), 'utf8'))
const { devDependencies }: { devDependencies: Record<string, string> } = JSON.parse(
  await readFile(join(ROOT, 'package.json'), 'utf8'),
)
const sources = Object.values(manifest.exports).map((file) => join(GUARD, file))
const declarations = await mkdtemp(join(tmpdir(), 'tenantry-guard-'))
try {
  await rm(out, { recursive: true, force: true })
  await compile('--rewriteRelativeImportExtensions', '--rootDir', join(GUARD, 'src'), '--outDir', out, ...sources)
  // The constructs share code with the stack, so they are bundled.
  await build({
    entryPoints: [CONSTRUCTS],
    outfile: join(out, 'cdk.js'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    external: ['aws-cdk-lib', 'aws-cdk-lib/*', 'constructs'],
    logLevel: 'warning',
  })
  // Alone: the modules that it imports are no part of the package.
  const alone = [
    '--allowImportingTsExtensions',
    '--emitDeclarationOnly',
    '--isolatedDeclarations',
    '--noResolve',
    '--noCheck',
  ]
  await compile(...alone, '--rootDir', join(ROOT, 'infra'), '--outDir', declarations, CONSTRUCTS)
  await copyFile(join(declarations, 'consumer.d.ts'), join(out, 'cdk.d.ts'))
} finally {
  await rm(declarations, { recursive: true })
}

const built = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` })
const optional = {
  'aws-cdk-lib': `^${devDependencies['aws-cdk-lib']}`,
  constructs: `^${devDependencies['constructs']}`,
}
const published = {
  ...manifest,
  exports: {
    ...Object.fromEntries(
      Object.entries(manifest.exports).map(([path, file]) => [path, built(file.replace(/^\.\/src\/|\.ts$/g, ''))]),
    ),
    './cdk': built('cdk'),
  },
  peerDependencies: { ...manifest.peerDependencies, ...optional },
  peerDependenciesMeta: {
    ...manifest.peerDependenciesMeta,
    ...Object.fromEntries(Object.keys(optional).map((name) => [name, { optional: true }])),
  },
}
await writeFile(join(out, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
await copyFile(join(GUARD, 'README.md'), join(out, 'README.md'))
console.log(`${out} is the package`)
