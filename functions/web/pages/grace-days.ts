/** The days of grace that a person chooses from. The views import this alone, and not the page: a start compiles less. */
export const GRACE_DAYS = ['0', '7', '14', '30'] as const
