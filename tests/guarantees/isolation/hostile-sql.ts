import type { ServiceRole } from '#shared/base/needs.ts'
import { AS_APP } from './hostile-sql/as-app.ts'
import { AS_AUTH } from './hostile-sql/as-auth.ts'
import { AS_MAILER } from './hostile-sql/as-mailer.ts'
import { AS_OPENER } from './hostile-sql/as-opener.ts'
import { AS_OPERATOR } from './hostile-sql/as-operator.ts'
import { AS_PUBLISHER } from './hostile-sql/as-publisher.ts'
import { AS_SERVICES } from './hostile-sql/as-services.ts'
import { AS_VAULT } from './hostile-sql/as-vault.ts'
import { AS_WORKER } from './hostile-sql/as-worker.ts'
import type { Attack } from './hostile-sql/attack.ts'

/** What an injection tries as each role of the service. */
const BY_ROLE: Readonly<Record<ServiceRole, readonly Attack[]>> = {
  app: AS_APP,
  auth: AS_AUTH,
  mailer: AS_MAILER,
  worker: AS_WORKER,
  operator: AS_OPERATOR,
  services: AS_SERVICES,
  opener: AS_OPENER,
  publisher: AS_PUBLISHER,
  vault: AS_VAULT,
}
export const ATTACKS: readonly Attack[] = Object.values(BY_ROLE).flat()

/** What an injection leaves on a pooled connection, and how it would fetch its loot after the next caller. */
export const POOLED: readonly {
  readonly what: string
  readonly plant: readonly string[]
  readonly loot: readonly string[]
}[] = [
  {
    what: 'a cursor in an open transaction',
    plant: [
      'commit',
      'begin',
      'declare loot cursor with hold for select email from app.users u join app.memberships m on m.user_id = u.id',
    ],
    loot: ['fetch all from loot'],
  },
  {
    what: "a statement under the name of one of the driver's",
    plant: [
      `do $$ declare s record; begin
         for s in select name, parameter_types::text[] as types from pg_prepared_statements where statement like '%app.memberships%' loop
           execute format('deallocate %I', s.name);
           execute format('prepare %I (uuid) as select set_config(''x.loot'', string_agg(email, '',''), false) from app.users u join app.memberships m on m.user_id = u.id and m.tenant_id = $1', s.name);
         end loop; end $$`,
    ],
    loot: [`select current_setting('x.loot', true)`],
  },
  { what: 'a temporary type', plant: ['create domain pg_temp.uuid as pg_catalog.uuid'], loot: ['select 1'] },
  {
    what: 'a setting',
    plant: [
      `select set_config('search_path', 'pg_temp', false)`,
      `select set_config('app.scope', '{scope of B}', false)`,
    ],
    loot: [`select current_setting('app.scope', true)`],
  },
]
