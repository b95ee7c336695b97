import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, buildSync } from 'esbuild'
import type { Need } from '#shared/base/needs.ts'

/** The folder of the source maps, in the assembly. */
export const SOURCE_MAPS = 'source-maps'

/** What is bundled: a handler, with what its function may use. */
export interface Bundled {
  readonly handlerFile: string
  readonly needs: readonly Need[]
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TARGET = { platform: 'node', target: 'node24', minify: true, logLevel: 'warning' } as const satisfies BuildOptions

// The AWS SDK imports these only when the environment has no credentials, and Lambda always sets them. A bundle omits them.
const UNUSED_CREDENTIAL_PROVIDERS = [
  '@aws-sdk/credential-provider-http',
  '@aws-sdk/credential-provider-ini',
  '@aws-sdk/credential-provider-process',
  '@aws-sdk/credential-provider-sso',
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/credential-provider-imds',
]

// Both survive minification. The guard is what infra/patches adds: a write on a lost socket rejects instead of throwing.
const DRIVER = '"CONNECTION_CLOSED"'
const GUARD = /===null\)return [^;{}]*\.connection\("CONNECTION_CLOSED"[^;{}]*,!1;/

let made: string | null = null
const bundles = new Map<string, string>()

/** Returns the packages that a function with these needs never loads. Its bundle omits them. */
const unusedPackages = ({ needs }: Bundled): string[] => [
  ...UNUSED_CREDENTIAL_PROVIDERS,
  ...(needs.includes('cache') ? [] : ['@upstash/ratelimit', '@upstash/redis']),
]

/**
 * Bundles a function. Returns the folder of its code, which stays until this process ends. Writes the source map of each
 * file into the folder `maps`, by the name that `mapName` returns: a function never loads its source map.
 *
 * Each `import()` becomes a file of its own, which Lambda's Node.js reads and compiles when it is first needed. The files are
 * CommonJS: an `import` of one of Node.js' own modules evaluates every export of it, and a `require` does not. esbuild
 * splits ES modules only, so it runs twice.
 */
export function bundle(bundled: Bundled, maps: string): string {
  const key = `${maps} ${bundled.handlerFile}`
  const folder = bundles.get(key) ?? makeBundle(bundled, maps)
  bundles.set(key, folder)
  return folder
}

function makeBundle(bundled: Bundled, maps: string): string {
  const split = buildSync({
    ...TARGET,
    entryPoints: { index: bundled.handlerFile },
    absWorkingDir: ROOT,
    bundle: true,
    splitting: true,
    format: 'esm',
    // The tested version of the AWS SDK, instead of the one that the runtime happens to have.
    mainFields: ['module', 'main'],
    external: unusedPackages(bundled),
    chunkNames: '[hash]',
    outdir: ROOT,
    write: false,
    sourcemap: 'inline',
    sourcesContent: false,
  })
  const folder = newFolder()
  const files = split.outputFiles.map(({ path }) => join(folder, basename(path)))
  for (const [index, { contents }] of split.outputFiles.entries()) writeFileSync(files[index] ?? '', contents)
  const { outputFiles } = buildSync({
    ...TARGET,
    entryPoints: files,
    absWorkingDir: folder,
    format: 'cjs',
    supported: { 'dynamic-import': false },
    outdir: folder,
    write: false,
    sourcemap: 'external',
    sourcesContent: false,
  })
  mkdirSync(maps, { recursive: true })
  const mapOf = new Map(outputFiles.map(({ path, text }) => [path, text]))
  for (const file of files) {
    const code = mapOf.get(file) ?? ''
    verifyDriver(file, code)
    writeFileSync(file, code)
    writeFileSync(join(maps, mapName(code)), mapOf.get(`${file}.map`) ?? '')
  }
  if (bundled.needs.includes('migrations'))
    cpSync(join(ROOT, 'migrations'), join(folder, 'migrations'), { recursive: true })
  return folder
}

/** Returns the name of the source map of a file with this code. Equal files have the same. */
export const mapName = (code: string): string => `${createHash('sha256').update(code).digest('hex')}.map`

/** Throws when the code has postgres.js without its patch. */
function verifyDriver(file: string, code: string): void {
  if (code.includes(DRIVER) && !GUARD.test(code))
    throw new Error(`${file} has postgres.js without its patch. Run npx patch-package --patch-dir infra/patches`)
}

/** Makes an empty folder, which is deleted when this process ends. */
function newFolder(): string {
  if (made === null) {
    const parent = mkdtempSync(join(tmpdir(), 'tenantry-bundles-'))
    process.once('exit', () => rmSync(parent, { recursive: true, force: true }))
    made = parent
  }
  return mkdtempSync(join(made, 'bundle-'))
}
