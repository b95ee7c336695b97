import { execFile } from 'node:child_process'
import { copyFile, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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

/** For `import`, and for `require`: each has files, and types, of its own ending. */
const FORMATS = [
  ['esm', '.js'],
  ['cjs', '.cjs'],
] as const

/** Copies declarations, once for each format. They name the files of the package, in which `shared` is a folder. */
async function publish(from: string, to: string): Promise<void> {
  for await (const file of glob('**/*.d.ts', { cwd: from })) {
    const text = (await readFile(join(from, file), 'utf8')).replaceAll(/(?<=['"])(?:\.\.\/)+shared\//g, './shared/')
    for (const [, extension] of FORMATS) {
      const target = join(to, file.replace(/\.ts$/, extension === '.js' ? '.ts' : '.cts'))
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, text.replaceAll(/(?<=from '[^']+)\.ts(?=')/g, extension))
    }
  }
}

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
    target: 'node22',
    logLevel: 'warning',
  } satisfies BuildOptions
  const peers = Object.keys(manifest.peerDependencies)
  for (const [format, extension] of FORMATS) {
    const outExtension = { '.js': extension }
    const constructs = { in: CONSTRUCTS, out: 'cdk' }
    const external = ['aws-cdk-lib', 'aws-cdk-lib/*', 'constructs']
    await build({
      ...bundle,
      format,
      entryPoints: sources,
      outdir: out,
      outExtension,
      splitting: format === 'esm',
      external: peers,
    })
    await build({ ...bundle, format, entryPoints: [constructs], outdir: out, outExtension, external })
  }
  await compile(
    '--allowImportingTsExtensions',
    '--emitDeclarationOnly',
    '--rootDir',
    ROOT,
    '--outDir',
    declarations,
    ...sources,
  )
  await publish(join(declarations, 'packages/guard/src'), out)
  await publish(join(declarations, 'shared'), join(out, 'shared'))
  // Alone: the modules that it imports are no part of the package.
  const alone = [
    '--allowImportingTsExtensions',
    '--emitDeclarationOnly',
    '--isolatedDeclarations',
    '--noResolve',
    '--noCheck',
  ]
  await compile(...alone, '--rootDir', join(ROOT, 'infra'), '--outDir', declarations, CONSTRUCTS)
  const constructs = join(declarations, 'constructs')
  await mkdir(constructs)
  await copyFile(join(declarations, 'consumer.d.ts'), join(constructs, 'cdk.d.ts'))
  await publish(constructs, out)
} finally {
  await rm(declarations, { recursive: true })
}

const built = (name: string) => ({
  import: { types: `./${name}.d.ts`, default: `./${name}.js` },
  require: { types: `./${name}.d.cts`, default: `./${name}.cjs` },
})
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
