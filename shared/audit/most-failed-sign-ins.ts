/** The overview of a tenant counts failed sign-ins up to this number. */
export const MOST_FAILED_SIGN_INS = 1000
