import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate } from '#shared/db/migrate.ts'

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const COPIED = ['functions', 'shared', 'migrations', 'package.json']
const LINKED = ['node_modules', 'packages']

const COLUMN = 'set local role identity_owner; alter table app.deals add column priority smallint not null default 0;\n'
const INDEX = `-- migrate: no-transaction as identity_owner
create index concurrently if not exists deals_by_priority on app.deals (tenant_id, priority);
`
const EDITED = 'functions/api/deals/deal-queries.ts'
const RETURNING = 'returning id, number, customer_name'
/** The next release reads what its migrations add. It fails without them. */
const READING = 'returning id, number + priority - priority as number, customer_name'

/** The functions that a deployment replaces. */
const CHANGED = ['auth', 'deals', 'members', 'publish-events']

/** The release that runs first, and the next one, with migrations. */
export interface Releases {
  /** Deploys the next release in the runbook's order: migrations, then functions. */
  next(): Promise<void>
  /** Deploys the functions of the previous one. The migrations stay. */
  previous(): Promise<void>
}

/** Makes the next release in `folder`. */
export async function makeReleases(options: {
  folder: string
  databaseUrl: string
  deploy: (folder: string, names: readonly string[]) => Promise<void>
}): Promise<Releases> {
  const { folder, databaseUrl, deploy } = options
  await mkdir(folder, { recursive: true })
  for (const name of COPIED) await cp(join(PROJECT, name), join(folder, name), { recursive: true })
  for (const name of LINKED) await symlink(join(PROJECT, name), join(folder, name))
  const text = await readFile(join(folder, EDITED), 'utf8')
  if (text.split(RETURNING).length !== 2) throw new Error(`${EDITED} has not "${RETURNING}" once`)
  await writeFile(join(folder, EDITED), text.replace(RETURNING, READING))
  const migrations = join(folder, 'migrations')
  const last = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).length
  for (const [index, migration] of [COLUMN, INDEX].entries())
    await writeFile(join(migrations, `${String(last + 1 + index).padStart(4, '0')}-next.sql`), migration)
  return {
    next: async () => {
      await migrate(databaseUrl, migrations)
      await deploy(folder, CHANGED)
    },
    previous: () => deploy(PROJECT, CHANGED),
  }
}
