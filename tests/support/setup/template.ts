/** The migrated and seeded database. Each test file gets a copy. */
export const TEMPLATE = 'tenantry_template'

/** The password of the service's roles in the test cluster. */
export const ROLE_PASSWORD = 'test-role-password'
