import type { CatalogueCheck, Finding } from '#shared/doctor/catalogue.ts'
import { ACCOUNT_TABLES, OPEN_POLICIES } from '#shared/doctor/catalogue-objects.ts'
import { FUNCTIONS } from '#shared/doctor/functions.ts'

/** The tables whose migration calls app.enforce_tenant with more than the table. */
const GUARD_ARGUMENTS: Readonly<Record<string, string>> = {
  'app.tenants': ", 'id'",
  'app.styles': ', p_system_rows => true',
}

const guard = (table: string): string =>
  ACCOUNT_TABLES.includes(table)
    ? `alter table ${table} enable row level security, force row level security;`
    : `select app.enforce_tenant('${table}'${GUARD_ARGUMENTS[table] ?? ''});`

const kind = (object: string): string => (object.endsWith(')') ? `routine ${object}` : `table ${object}`)

/** Splits `table name`. Either part may be quoted. */
function parts(object: string): { table: string; name: string } {
  const [, table = object, name = ''] = /^((?:"(?:[^"]|"")*"|[^" ])+) (.+)$/.exec(object) ?? []
  return { table, name }
}

function policyRepair(object: string): string {
  const { table, name } = parts(object)
  if (/^tenant_(read|insert|update|delete)$/.test(name)) return guard(table)
  if (OPEN_POLICIES.some(({ policy }) => policy === object)) {
    return `drop policy ${name} on ${table}; create it again only if a migration does`
  }
  return `drop policy ${name} on ${table};`
}

// The detail of a finding about a privilege is `role privilege`.
function held(detail: string): string {
  const [role = '', privilege = ''] = detail.split(' ')
  return `${role} holds ${privilege.toUpperCase()}`
}

function revoke(table: string, detail: string): string {
  const [role = '', privilege = ''] = detail.split(' ')
  return `revoke ${privilege} on ${table} from ${role};`
}

type ByCheck = Readonly<Record<CatalogueCheck, (object: string, detail: string) => string>>

/** What is wrong, in one line. */
const FAULTS: ByCheck = {
  'row-security-not-enabled': () =>
    'row security is off: a role that may read the table reads the rows of every tenant',
  'row-security-not-forced': () => 'row security does not bind the owner of the table',
  'row-security-without-policy': () => 'row security is on, but there is no policy: no role sees a row',
  'grant-without-policy': (_, detail) => `${detail} is granted, but no policy allows it: the statement finds no row`,
  'policy-for-public': () => 'the policy is for PUBLIC, which includes every future role',
  'policy-always-true': () => 'the policy admits the rows of every tenant',
  'policy-ignores-tenant': (_, expression) =>
    `the policy does not compare the tenant of the row with app.current_tenant(): ${expression}`,
  'policy-admits-other-tenants': (_, expression) => `the policy admits more than the rows of the tenant: ${expression}`,
  'policy-admits-null-tenant': (_, expression) => `the policy lets a tenant write rows without a tenant: ${expression}`,
  'actor-not-checked': (_, role) => `${role} may write audit entries in the name of any user`,
  'policy-calls-for-each-row': (_, expression) =>
    `the policy calls app.current_tenant() for each row instead of once: ${expression}`,
  'role-missing': () => 'the role does not exist',
  'role-attribute': (_, attribute) => `the role holds ${attribute.toUpperCase()}`,
  'role-membership': (_, other) => `the role is a member of ${other} and may use its privileges`,
  'gate-member': (member) => `${member} may become identity_gate and enter any tenant`,
  'seal-readable': (role, privilege) => `${role} holds ${privilege.toUpperCase()} on app.seal and may enter any tenant`,
  'role-owns-object': (_, role) => `${role} owns it and may drop its guard`,
  'owned-by-another': (_, owner) => `${owner} owns it, and FORCE ROW LEVEL SECURITY may not bind that role`,
  'service-reaches-app': (_, detail) => `${held(detail)}: another service reaches it without the entry into a tenant`,
  'service-writes-unguarded': (_, detail) =>
    `${held(detail)} on a table without tenant_id, which keeps no tenant apart`,
  'privilege-past-row-security': (_, detail) => `${held(detail)}, which bypasses row security`,
  'grant-to-public': (_, privilege) => `every role holds ${privilege.toUpperCase()} on it`,
  'grant-on-partition': (_, detail) => `${held(detail)} on a partition, which bypasses the policies of its parent`,
  'view-without-invoker': () =>
    'the view reads with the privileges of its owner: the policies for the reader do not apply',
  'materialized-view': () => 'a materialized view stores rows without row security',
  'definer-not-listed': () => 'a SECURITY DEFINER function that no migration makes',
  'definer-missing': () => 'a SECURITY DEFINER function of the service is missing, or has become SECURITY INVOKER',
  'definer-search-path': (_, settings) =>
    `a SECURITY DEFINER function with an unsafe search_path: ${settings || 'none'}`,
  'function-search-path': (_, settings) =>
    `a function looks names up along the search_path of its caller: ${settings || 'none'}`,
  'definer-messages': (_, settings) =>
    `a SECURITY DEFINER function may print the statements inside it to its caller: ${settings || 'none'}`,
  'definer-for-public': () => 'every role may call a SECURITY DEFINER function',
  'definer-owner': (_, owner) => `a SECURITY DEFINER function runs as ${owner}`,
  'default-privileges': (_, acl) => `default privileges open every future object: ${acl}`,
  'foreign-key-without-tenant': (_, parent) =>
    `the foreign key to ${parent} omits the tenant: a row may point into another tenant`,
  'tenant-data-without-tenant-id': (_, parent) => `the table references ${parent} and has no tenant_id`,
  'unique-across-tenants': (_, index) =>
    `the key ${index} is unique across tenants: a violation reveals what another tenant has`,
}

/** How to repair it, in one line. A repair that ends in a semicolon is SQL. */
const REPAIRS: ByCheck = {
  'row-security-not-enabled': guard,
  'row-security-not-forced': guard,
  'row-security-without-policy': guard,
  'grant-without-policy': guard,
  'policy-for-public': policyRepair,
  'policy-always-true': policyRepair,
  'policy-ignores-tenant': policyRepair,
  'policy-admits-other-tenants': policyRepair,
  'policy-admits-null-tenant': policyRepair,
  'actor-not-checked': () => 'create the policy actor_insert as migrations/0010-audit-log.sql does',
  'policy-calls-for-each-row': policyRepair,
  'role-missing': (role) => `create ${role} as migrations/0001-database-roles.sql does`,
  'role-attribute': (role, attribute) => `alter role ${role} no${attribute};`,
  'role-membership': (role, other) => `revoke ${other} from ${role};`,
  'gate-member': (member) => `revoke identity_gate from ${member};`,
  'seal-readable': (role, privilege) => `revoke ${privilege} on app.seal from ${role}; select app.renew_seal();`,
  'role-owns-object': (object) => `alter ${object} owner to identity_owner;`,
  'owned-by-another': (object) => `alter ${kind(object)} owner to identity_owner;`,
  'service-reaches-app': (object, detail) => revoke(object.endsWith(')') ? `routine ${object}` : object, detail),
  'service-writes-unguarded': (table) => `add tenant_id to ${table}, and call app.enforce_tenant`,
  'privilege-past-row-security': revoke,
  'grant-to-public': (object, privilege) =>
    `revoke ${privilege} on ${object.includes('.') ? kind(object) : `schema ${object}`} from public;`,
  'grant-on-partition': revoke,
  'view-without-invoker': (view) => `alter view ${view} set (security_invoker = true);`,
  'materialized-view': (view) => `drop materialized view ${view};`,
  'definer-not-listed': (routine) => `alter routine ${routine} security invoker;`,
  'definer-missing': (routine) => `create ${routine} as its migration does`,
  'definer-search-path': (routine) => `alter routine ${routine} set search_path = pg_catalog, pg_temp;`,
  'function-search-path': (routine) => `alter routine ${routine} set search_path = pg_catalog, pg_temp;`,
  'definer-messages': (routine) => `alter routine ${routine} set client_min_messages = warning;`,
  'definer-for-public': (routine) => `revoke execute on routine ${routine} from public;`,
  'definer-owner': (routine) => `alter routine ${routine} owner to ${FUNCTIONS[routine]?.owner ?? 'identity_owner'};`,
  'default-privileges': (object) =>
    `revoke them: alter default privileges for role ${object.replace(' in ', ' in schema ')} revoke …`,
  'foreign-key-without-tenant': (object) =>
    `replace constraint ${parts(object).name} of ${parts(object).table} with one on the tenant's column and the id`,
  'tenant-data-without-tenant-id': (object) =>
    `add tenant_id to ${parts(object).table}, reference (id, tenant_id), and call app.enforce_tenant`,
  'unique-across-tenants': (object, index) =>
    `add tenant_id to ${index}, or list ${object} in shared/doctor/catalogue-objects.ts`,
}

/** Returns what a finding means and how to repair it. */
export const remedyFor = ({ check, object, detail = '' }: Finding) => ({
  fault: FAULTS[check](object, detail),
  repair: REPAIRS[check](object, detail),
})
