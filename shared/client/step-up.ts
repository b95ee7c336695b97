// Written by `npm run openapi`.
import type { StepUp } from '#shared/identity/step-up.ts'

/** The routes that need a step-up. */
export const STEP_UP: Readonly<Record<string, StepUp>> = {
  'POST /v1/api-keys': true,
  'PATCH /v1/api-keys/{id}': true,
  'POST /v1/api-keys/{id}/rotate': true,
  'DELETE /v1/api-keys/{id}': true,
  'POST /v1/auth/factors/setup-code': 'again',
  'POST /v1/auth/factors/draft': 'again',
  'GET /v1/auth/factors/draft': 'again',
  'POST /v1/auth/factors/totp': 'again',
  'POST /v1/auth/factors/passkey-options': 'again',
  'POST /v1/auth/factors/passkey': 'again',
  'POST /v1/auth/factors/recovery-codes': 'again',
  'DELETE /v1/auth/factors/{id}': 'again',
  'DELETE /v1/auth/tenants/{id}': true,
  'DELETE /v1/auth/sessions/{id}': true,
  'DELETE /v1/auth/sessions': true,
  'POST /v1/auth/password/change': 'two-factor',
  'POST /v1/members/invite': true,
  'PATCH /v1/members/{id}': true,
  'DELETE /v1/members/{id}': true,
  'DELETE /v1/members/{id}/sessions': true,
  'POST /v1/members/{id}/factor-reset': true,
  'POST /v1/roles': true,
  'PATCH /v1/roles/{id}': true,
  'DELETE /v1/roles/{id}': true,
  'PUT /v1/tenant/second-factor-policy': true,
  'POST /v1/vendor-accounts': true,
  'PUT /v1/vendor-accounts/{id}/secret': true,
  'DELETE /v1/vendor-accounts/{id}': true,
}
