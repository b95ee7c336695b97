import { routeGroup } from '#shared/http/group.ts'
import { cancelInvitation } from './cancel-invitation.ts'
import { changeRole } from './change-role.ts'
import { endSessions } from './end-sessions.ts'
import { inviteMember } from './invite-member.ts'
import { listInvitations } from './list-invitations.ts'
import { listMembers } from './list-members.ts'
import { readMember } from './read-member.ts'
import { requestFactorReset } from './request-factor-reset.ts'
import { resendInvitation } from './resend-invitation.ts'
import { revokeMember } from './revoke-member.ts'

export const group = routeGroup({
  name: 'members',
  bodyLimitBytes: 16 * 1024,
  endpoints: [
    listMembers,
    inviteMember,
    listInvitations,
    resendInvitation,
    cancelInvitation,
    readMember,
    changeRole,
    revokeMember,
    endSessions,
    requestFactorReset,
  ],
})
