import { execFile } from 'node:child_process'
import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { build, type BuildOptions } from 'esbuild'

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
  // The code that it shares with the service and the SDK's signer become a part of the package.
  const bundle = {
    bundle: true,
    platform: 'node',
    mainFields: ['module', 'main'],
    format: 'esm',
    target: 'node22',
    logLevel: 'warning',
  } satisfies BuildOptions
  const peers = Object.keys(manifest.peerDependencies)
  await build({ ...bundle, entryPoints: sources, outdir: out, splitting: true, external: peers })
  await build({
    ...bundle,
    entryPoints: [CONSTRUCTS],
    outfile: join(out, 'cdk.js'),
    external: ['aws-cdk-lib', 'aws-cdk-lib/*', 'constructs'],
  })
  await compile(
    '--allowImportingTsExtensions',
    '--emitDeclarationOnly',
    '--rootDir',
    ROOT,
    '--outDir',
    declarations,
    ...sources,
  )
  await cp(join(declarations, 'packages/guard/src'), out, { recursive: true })
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
// The license of the signer that the package contains.
await copyFile(join(ROOT, 'node_modules/@smithy/signature-v4/LICENSE'), join(out, 'LICENSE-smithy'))
console.log(`${out} is the package`)
