import { inject } from 'vitest'

/** The beginning of the types of problems: the default of the setting, or the assembly's value. */
export const PROBLEM_BASE_URL = inject('assembly')?.problemBaseUrl ?? 'https://tenantry.example/problems'
