import { PROBLEMS, type ProblemKind } from '#shared/problem.ts'

const titles: Partial<Record<ProblemKind, string>> = Object.fromEntries(
  Object.entries(PROBLEMS).map(([kind, { title }]) => [kind, title]),
)

const meanings: Partial<Record<ProblemKind, string>> = {
  'validation-failed':
    'A field of the request is missing or not valid. "errors" names each field. Correct them and send the request again.',
  'malformed-json': 'The body of the request is not JSON, or is nested too deeply. Send valid JSON in UTF-8.',
  'token-invalid': 'The link of a mail was used for something else, was cancelled or has expired. Ask for a new one.',
  'tenant-not-selected': 'The session acts in no shop yet. Select one, then send the request again.',
  'already-member': 'The person is a member of the shop already. Change their role instead of inviting them.',
  'role-exists': 'The shop has a role of this code already. Choose another one.',
  'role-in-use': 'Members or open invitations have the role. Give them another role first.',
  'role-limit': 'The shop has as many roles of its own as it may have. Delete one that nobody needs.',
  'last-owner': 'The change would leave the shop without an owner. Make somebody else an owner first.',
  'password-rejected':
    'The new password is too short, too common or known from a breach. "errors" says which. Choose another one.',
  'sync-active': 'A sync of the same kind is running. Wait until it ends.',
  'vendor-rejected': 'The vendor did not accept the account number and the secret. Check both with the vendor.',
  'vendor-unreachable': 'The vendor did not reply in time. Nothing is wrong with the request. Try again later.',
  'currency-in-use': 'Prices are stored in the currency of the shop, so it cannot change any more.',
  'deal-locked': 'The deal is past the stage in which its lines can change.',
  'precondition-failed': 'Somebody changed the resource since you read it. Read it again, then decide what to change.',
  'position-expired':
    'Events after this position are deleted. Compare with the API what you missed, and read the events without a position.',
  'rate-limited': 'There were too many attempts. The header "Retry-After" says when to try again.',
  'dependency-unavailable':
    'A part of the service does not reply. Nothing was changed. Try again after the time in "Retry-After".',
}

/** The page of a kind of problem. */
export const problemPages = {
  titles,
  meanings,
  other: 'The service refused the request. Its "detail" says why.',
  status: 'HTTP status',
  kind: 'Type',
  about: 'The API responds with this type of problem (RFC 9457) when it refuses a request.',
}
