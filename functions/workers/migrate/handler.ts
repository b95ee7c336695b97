import { parseConfig } from '#shared/base/config.ts'
import { secretLogin } from '#shared/db/login.ts'
import { bringUp } from './bring-up.ts'

const { secretIds, database } = parseConfig(process.env)

/** A deployment runs this before any other new function takes a request. An error stops the deployment. */
export const handler = (): Promise<object> =>
  bringUp({
    owner: secretLogin(secretIds.database, null),
    roles: secretIds.roles.map((id) => secretLogin(id, null)),
    folder: database.migrationsFolder,
    security: database,
  })
