/** Whom a tenant asks for a second factor. Managers hold every permission, or one on members, vendor accounts or the tenant. */
export const SECOND_FACTOR_POLICIES = ['none', 'managers', 'everyone'] as const
