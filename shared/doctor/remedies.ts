import { type CatalogueCheck, type Finding, OWNER_FUNCTIONS } from '#shared/doctor/catalogue.ts'

/** One line on what is wrong and one on how to repair it. A repair that ends in a semicolon is SQL. */
export interface Remedy {
  readonly fault: string
  readonly repair: string
}

/** The tables whose migration calls app.enforce_tenant with more than the table. */
const GUARD_ARGUMENTS: Readonly<Record<string, string>> = {
  'app.tenants': ", 'id'",
  'app.styles': ', p_system_rows => true',
}

const guard = (table: string): string => `select app.enforce_tenant('${table}'${GUARD_ARGUMENTS[table] ?? ''});`

const kind = (object: string): string => (object.endsWith(')') ? `routine ${object}` : `table ${object}`)

/** Splits `table name`. Either part may be quoted. */
function parts(object: string): { table: string; name: string } {
  const [, table = object, name = ''] = /^((?:"(?:[^"]|"")*"|[^" ])+) (.+)$/.exec(object) ?? []
  return { table, name }
}

function policyRepair(object: string): string {
  const { table, name } = parts(object)
  if (/^tenant_(read|insert|update|delete)$/.test(name)) return guard(table)
  if (/^(worker_queue|operator_read)$/.test(name)) {
    return `drop policy ${name} on ${table}; create it again only if a migration does`
  }
  return `drop policy ${name} on ${table};`
}

const grantee = (detail: string): [role: string, privilege: string] => {
  const [role = '', privilege = ''] = detail.split(' ')
  return [role, privilege]
}

const REMEDIES: Readonly<Record<CatalogueCheck, (object: string, detail: string) => Remedy>> = {
  'row-security-not-enabled': (table) => ({
    fault: 'row security is off: a role that may read the table reads the rows of every tenant',
    repair: guard(table),
  }),
  'row-security-not-forced': (table) => ({
    fault: 'row security does not bind the owner of the table',
    repair: guard(table),
  }),
  'row-security-without-policy': (table) => ({
    fault: 'row security is on, but there is no policy: no role sees a row',
    repair: guard(table),
  }),
  'grant-without-policy': (table, detail) => ({
    fault: `${detail} is granted, but no policy allows it: the statement finds no row`,
    repair: guard(table),
  }),
  'policy-for-public': (policy) => ({
    fault: 'the policy is for PUBLIC, which includes every future role',
    repair: policyRepair(policy),
  }),
  'policy-always-true': (policy) => ({
    fault: 'the policy admits the rows of every tenant',
    repair: policyRepair(policy),
  }),
  'policy-ignores-tenant': (policy, expression) => ({
    fault: `the policy does not compare the tenant of the row with app.current_tenant(): ${expression}`,
    repair: policyRepair(policy),
  }),
  'policy-admits-other-tenants': (policy, expression) => ({
    fault: `the policy admits more than the rows of the tenant: ${expression}`,
    repair: policyRepair(policy),
  }),
  'policy-admits-null-tenant': (policy, expression) => ({
    fault: `the policy lets a tenant write rows without a tenant: ${expression}`,
    repair: policyRepair(policy),
  }),
  'role-missing': (role) => ({
    fault: 'the role does not exist',
    repair: `create ${role} as migrations/0001-database-roles.sql does`,
  }),
  'role-attribute': (role, attribute) => ({
    fault: `the role holds ${attribute.toUpperCase()}`,
    repair: `alter role ${role} no${attribute};`,
  }),
  'role-membership': (role, other) => ({
    fault: `the role is a member of ${other} and may use its privileges`,
    repair: `revoke ${other} from ${role};`,
  }),
  'role-owns-object': (object, role) => ({
    fault: `${role} owns it and may drop its guard`,
    repair: `alter ${object} owner to identity_owner;`,
  }),
  'owned-by-another': (object, owner) => ({
    fault: `${owner} owns it, and FORCE ROW LEVEL SECURITY may not bind that role`,
    repair: `alter ${kind(object)} owner to identity_owner;`,
  }),
  'privilege-past-row-security': (table, detail) => {
    const [role, privilege] = grantee(detail)
    return {
      fault: `${role} holds ${privilege.toUpperCase()}, which bypasses row security`,
      repair: `revoke ${privilege} on ${table} from ${role};`,
    }
  },
  'grant-to-public': (object, privilege) => ({
    fault: `every role holds ${privilege.toUpperCase()} on it`,
    repair: `revoke ${privilege} on ${object.includes('.') ? kind(object) : `schema ${object}`} from public;`,
  }),
  'grant-on-partition': (table, detail) => {
    const [role, privilege] = grantee(detail)
    return {
      fault: `${role} holds ${privilege.toUpperCase()} on a partition, which bypasses the policies of its parent`,
      repair: `revoke ${privilege} on ${table} from ${role};`,
    }
  },
  'view-without-invoker': (view) => ({
    fault: 'the view reads with the privileges of its owner: the policies for the reader do not apply',
    repair: `alter view ${view} set (security_invoker = true);`,
  }),
  'materialized-view': (view) => ({
    fault: 'a materialized view stores rows without row security',
    repair: `drop materialized view ${view};`,
  }),
  'definer-not-listed': (routine) => ({
    fault: 'a SECURITY DEFINER function that shared/doctor/catalogue.ts does not list',
    repair: `alter routine ${routine} security invoker;`,
  }),
  'definer-missing': (routine) => ({
    fault: 'a SECURITY DEFINER function of the service is missing, or has become SECURITY INVOKER',
    repair: `create ${routine} as its migration does`,
  }),
  'definer-search-path': (routine, settings) => ({
    fault: `a SECURITY DEFINER function with an unsafe search_path: ${settings || 'none'}`,
    repair: `alter routine ${routine} set search_path = pg_catalog, pg_temp;`,
  }),
  'definer-for-public': (routine) => ({
    fault: 'every role may call a SECURITY DEFINER function',
    repair: `revoke execute on routine ${routine} from public;`,
  }),
  'definer-owner': (routine, owner) => ({
    fault: `a SECURITY DEFINER function runs as ${owner}`,
    repair: `alter routine ${routine} owner to ${OWNER_FUNCTIONS.includes(routine) ? 'identity_owner' : 'identity_resolver'};`,
  }),
  'default-privileges': (object, acl) => ({
    fault: `default privileges open every future object: ${acl}`,
    repair: `revoke them: alter default privileges for role ${object.replace(' in ', ' in schema ')} revoke …`,
  }),
  'foreign-key-without-tenant': (object, parent) => {
    const { table, name } = parts(object)
    return {
      fault: `the foreign key to ${parent} omits the tenant: a row may point into another tenant`,
      repair: `replace constraint ${name} of ${table} with one on the tenant's column and the id`,
    }
  },
  'tenant-data-without-tenant-id': (object, parent) => ({
    fault: `the table references ${parent} and has no tenant_id`,
    repair: `add tenant_id to ${parts(object).table}, reference (id, tenant_id), and call app.enforce_tenant`,
  }),
  'unique-across-tenants': (object, index) => ({
    fault: `the key ${index} is unique across tenants: a violation reveals what another tenant has`,
    repair: `add tenant_id to ${index}, or list ${object} in shared/doctor/catalogue.ts`,
  }),
}

/** Returns what a finding means and how to repair it. */
export const remedyFor = ({ check, object, detail = '' }: Finding): Remedy => REMEDIES[check](object, detail)
