import type { ProblemKind } from '#shared/base/problem.ts'

/**
 * What happened, and what the caller of the API should do. The API document and the page of each kind say so.
 */
export const PROBLEM_ACTIONS: Readonly<Record<ProblemKind, string>> = {
  'validation-failed':
    'A field of the request is missing or not valid. `errors` names each field. Correct them and send the request again.',
  'malformed-json': 'The body of the request is not JSON, or is nested too deeply. Send valid JSON in UTF-8.',
  'token-invalid': 'The link of a mail was meant for something else, was cancelled or has expired. Ask for a new one.',
  'tenant-not-selected': 'The session has selected no tenant, or another one. Select one and send the request again.',
  'already-member': 'The person is a member of the tenant already. Change their role instead of inviting them.',
  'invitations-stopped':
    'Too many invitations of the tenant came back or were marked as spam. Check the addresses, then ask the operator of the service to allow invitations again.',
  'role-exists': 'The tenant has a role of this code already. Choose another code.',
  'role-in-use': 'Members or open invitations have the role. Give them another role first.',
  'role-limit': 'The tenant has as many roles of its own as it may have. Delete one that nobody needs.',
  'key-exists': 'A live API key of the tenant has this name. Choose another name.',
  'key-limit': 'The tenant has as many live API keys as it may have. Revoke one that nobody needs.',
  'key-rotated': 'The key has got another secret meanwhile. Read the key, and rotate it if that is still wanted.',
  'key-ended': 'The API key is revoked or has expired. Make another one.',
  'factor-rejected': 'The code or the passkey is wrong, was used already or has expired. Send another one.',
  'sign-in-expired': 'The sign-in took too long or had too many tries. Sign in with the password again.',
  'step-up-required':
    'Prove that the user is present: by a second factor or, without one, by the password. Then send the request again with the new token.',
  'second-factor-required':
    'The tenant asks for a second factor, and this session has not proven one. Set one up, or sign in with it, and send the request again.',
  'last-factor': 'A tenant of the user asks for a second factor. Add another one before this one is removed.',
  'draft-expired': 'The draft has expired, was used or belongs to another session. Make a new one.',
  'factor-limit': 'The user has ten passkeys. Remove one before adding another.',
  'passkey-exists': 'The passkey belongs to a user already. Use it, or make another one.',
  'last-owner': 'The change would leave the tenant without an owner. Make somebody else an owner first.',
  'password-rejected': 'The new password is too easy to find out. `errors` says why. Choose another one.',
  'sync-active': 'A sync run of this vendor is queued or running. Wait until it ends.',
  'vendor-rejected': 'The vendor did not accept the account number and the secret. Check both with the vendor.',
  'vendor-unreachable': 'The vendor did not reply in time. Nothing is wrong with the request. Send it again later.',
  'currency-in-use': 'The tenant has deals in its currency. The currency can no longer change.',
  'deal-locked':
    'The status of the deal does not allow this change. Read the deal, and change it to a draft if that is allowed.',
  'precondition-failed':
    'The resource has changed since it was read, or the operation does not take the condition. Read it again, then decide what to change.',
  'position-expired': 'Events after this position are deleted. Compare what you missed, and begin without `after`.',
  'idempotency-key-reused':
    'The key was sent with another request in the last 24 hours. Use a new key for each operation.',
  'rate-limited': 'There were too many attempts. Wait as many seconds as `Retry-After` says.',
  'dependency-unavailable':
    'A part of the service does not reply. Send the request again after the seconds of `Retry-After`. A write may have taken effect.',
}
