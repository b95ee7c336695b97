/** Why a sync run failed. The check of app.sync_runs has the same list. */
export const SYNC_ERRORS = [
  'vendor-rejected',
  'vendor-unreachable',
  'vendor-answer',
  'kms-unavailable',
  'abandoned',
] as const
