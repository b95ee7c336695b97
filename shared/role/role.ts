export interface Role {
  readonly id: number
  readonly code: string
  readonly label: string
  readonly rank: number
}

/** The permission that stands for every permission. */
export const EVERY_PERMISSION = '*'

/** Whether a role's permissions, as stored, allow what `permission` guards. */
export const holds = (permissions: readonly string[], permission: string): boolean =>
  permissions.includes(permission) || permissions.includes(EVERY_PERMISSION)
