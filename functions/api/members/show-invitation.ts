import type { Invitation, InvitationRecord } from '#shared/identity/member.ts'

/** Converts an invitation to its form in the API, with the role as its code. */
export const showInvitation = ({ role, ...invitation }: InvitationRecord): Invitation => ({
  ...invitation,
  role: role.code,
})
