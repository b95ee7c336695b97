/** The migrated and seeded database that each test file gets a copy of. */
export const TEMPLATE = 'tenantry_template'

/** The password of the service's roles in the test cluster. */
export const ROLE_PASSWORD = 'test-role-password'
