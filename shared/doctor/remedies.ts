import { type CatalogueCheck, type Finding, OWNER_FUNCTIONS } from '#shared/doctor/catalogue.ts'

/** What is wrong and what puts it right, each in one line. A repair that ends in a semicolon is SQL, ready to run. */
export interface Remedy {
  readonly fault: string
  readonly repair: string
}

const guard = (table: string): string =>
  table === 'app.tenants' ? "select app.enforce_tenant('app.tenants', 'id');" : `select app.enforce_tenant('${table}');`

const kind = (object: string): string => (object.endsWith(')') ? `routine ${object}` : `table ${object}`)

/** A name of the form `table name`, in which each part may be quoted. */
function parts(object: string): { table: string; name: string } {
  const [, table = object, name = ''] = /^((?:"(?:[^"]|"")*"|[^" ])+) (.+)$/.exec(object) ?? []
  return { table, name }
}

// enforce_tenant drops and makes its four policies anew.
function policyRepair(object: string): string {
  const { table, name } = parts(object)
  if (/^tenant_(read|insert|update|delete)$/.test(name)) return guard(table)
  if (/^(worker_queue|operator_read)$/.test(name)) {
    return `drop policy ${name} on ${table}, and create it as the migration that made it does, if one did`
  }
  return `drop policy ${name} on ${table};`
}

const grantee = (detail: string): [role: string, privilege: string] => {
  const [role = '', privilege = ''] = detail.split(' ')
  return [role, privilege]
}

const REMEDIES: Readonly<Record<CatalogueCheck, (object: string, detail: string) => Remedy>> = {
  'row-security-not-enabled': (table) => ({
    fault: 'row security is off: whoever may read it reads the rows of every tenant',
    repair: guard(table),
  }),
  'row-security-not-forced': (table) => ({
    fault: 'row security does not bind the owner of the table',
    repair: guard(table),
  }),
  'row-security-without-policy': (table) => ({
    fault: 'row security is on without a policy: nobody sees a row',
    repair: guard(table),
  }),
  'grant-without-policy': (table, detail) => ({
    fault: `${detail} is granted, but no policy allows it: the statement finds no row`,
    repair: guard(table),
  }),
  'policy-for-public': (policy) => ({
    fault: 'the policy is for PUBLIC, and so for every role to come',
    repair: policyRepair(policy),
  }),
  'policy-always-true': (policy) => ({
    fault: 'the policy is true for the rows of every tenant',
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
    fault: `the policy lets a tenant write rows of the platform, or of none: ${expression}`,
    repair: policyRepair(policy),
  }),
  'role-missing': (role) => ({
    fault: 'the role is not there',
    repair: `create the role ${role} with the attributes and settings of the first migration`,
  }),
  'role-attribute': (role, attribute) => ({
    fault: `the role holds ${attribute.toUpperCase()}`,
    repair: `alter role ${role} no${attribute};`,
  }),
  'role-membership': (role, other) => ({
    fault: `the role is a member of ${other}, and may do what that role may`,
    repair: `revoke ${other} from ${role};`,
  }),
  'role-owns-object': (object, role) => ({
    fault: `${role} owns it, and may change or drop its guard`,
    repair: `alter ${object} owner to identity_owner;`,
  }),
  'owned-by-another': (object, owner) => ({
    fault: `${owner} owns it, whom FORCE ROW LEVEL SECURITY may not bind`,
    repair: `alter ${kind(object)} owner to identity_owner;`,
  }),
  'privilege-past-row-security': (table, detail) => {
    const [role, privilege] = grantee(detail)
    return {
      fault: `${role} holds ${privilege.toUpperCase()}, which row security does not govern`,
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
      fault: `${role} holds ${privilege.toUpperCase()} on a partition, past the policies of its parent`,
      repair: `revoke ${privilege} on ${table} from ${role};`,
    }
  },
  'view-without-invoker': (view) => ({
    fault: 'the view reads with the rights of its owner, past row security',
    repair: `alter view ${view} set (security_invoker = true);`,
  }),
  'materialized-view': (view) => ({
    fault: 'a materialized view keeps rows where row security does not reach',
    repair: `drop materialized view ${view};`,
  }),
  'definer-not-listed': (routine) => ({
    fault: 'a SECURITY DEFINER function that nobody listed in shared/doctor/catalogue.ts',
    repair: `alter routine ${routine} security invoker;`,
  }),
  'definer-missing': (routine) => ({
    fault: 'a SECURITY DEFINER function of the service is gone, or is one no longer',
    repair: `create ${routine} as the migration that made it does`,
  }),
  'definer-search-path': (routine, settings) => ({
    fault: `a SECURITY DEFINER function whose names others may capture: ${settings || 'no search_path'}`,
    repair: `alter routine ${routine} set search_path = pg_catalog, pg_temp;`,
  }),
  'definer-for-public': (routine) => ({
    fault: 'every role may call a SECURITY DEFINER function',
    repair: `revoke execute on routine ${routine} from public;`,
  }),
  'definer-owner': (routine, owner) => ({
    fault: `a SECURITY DEFINER function acts as ${owner}`,
    repair: `alter routine ${routine} owner to ${OWNER_FUNCTIONS.includes(routine) ? 'identity_owner' : 'identity_resolver'};`,
  }),
  'default-privileges': (object, acl) => ({
    fault: `default privileges open whatever is created to come: ${acl}`,
    repair: `alter default privileges for role ${object.replace(' in ', ' in schema ')} revoke what was granted`,
  }),
  'foreign-key-without-tenant': (object, parent) => {
    const { table, name } = parts(object)
    return {
      fault: `the foreign key to ${parent} leaves the tenant out: a row may point into another shop`,
      repair: `drop constraint ${name} of ${table}, and let it refer by the tenant's column and the id together`,
    }
  },
  'tenant-data-without-tenant-id': (object, parent) => ({
    fault: `the table refers to ${parent}, and has no tenant_id of its own`,
    repair: `add tenant_id to ${parts(object).table}, refer by it and the id together, and call app.enforce_tenant`,
  }),
  'unique-across-tenants': (object, index) => ({
    fault: `the key ${index} is unique over all tenants: its violation tells one what another has`,
    repair: `make ${index} begin with tenant_id, or list ${object} in shared/doctor/catalogue.ts`,
  }),
}

/** The words for a finding of the catalogue. */
export const remedyFor = ({ check, object, detail = '' }: Finding): Remedy => REMEDIES[check](object, detail)
