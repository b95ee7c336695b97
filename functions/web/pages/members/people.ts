import { shownEmail } from '#shared/schema/shown-email.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { mayGive } from '#shared/identity/may-give.ts'
import type { ShopUi } from '#web/http/page.ts'

export type Member = ReplyOf<'GET /v1/members'>['data'][number]
export type ListedRole = ReplyOf<'GET /v1/roles'>['data'][number]

/** The states of a member, as the API filters by them. */
export const MEMBER_STATUSES = ['active', 'invited', 'revoked'] as const

/** A member's state, in the words of the page. */
export function stateOf({ accepted_at, revoked_at, user }: Member): 'removed' | 'invited' | 'disabled' | 'active' {
  if (revoked_at !== null) return 'removed'
  if (accepted_at === null) return 'invited'
  return user.disabled ? 'disabled' : 'active'
}

/** The name of a person, or the address of one who has none yet. */
export const nameOf = ({ user }: { readonly user: Pick<Member['user'], 'full_name' | 'email'> }): string =>
  user.full_name ?? shownEmail(user.email)

/** The roles that the person of the session may give, as options. */
export const optionsOf = (
  session: ShopUi['session'],
  roles: readonly ListedRole[],
): { value: string; label: string }[] =>
  roles.filter((role) => mayGive(session, role)).map(({ code, label }) => ({ value: code, label }))
