import { parseConfig } from '#shared/config.ts'
import { secretLogin } from '#shared/db/login.ts'
import { bringUp } from './bring-up.ts'

const { secretIds, database } = parseConfig(process.env)

/** Run by a deployment, before any other function of it takes a request; what it throws stops the deployment. */
export const handler = (): Promise<object> =>
  bringUp({
    owner: secretLogin(secretIds.database, null),
    roles: secretIds.roles.map((id) => secretLogin(id, null)),
    folder: database.migrationsFolder,
    security: database,
  })
