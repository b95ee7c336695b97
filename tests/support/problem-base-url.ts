import { inject } from 'vitest'

/** What the types of problems begin with: the setting's own default, or what the assembly says. */
export const PROBLEM_BASE_URL = inject('assembly')?.problemBaseUrl ?? 'https://tenantry.example/problems'
