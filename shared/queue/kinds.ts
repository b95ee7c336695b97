import * as v from 'valibot'
import type { InvokedJob } from '#shared/base/needs.ts'
import { BROWSERS, SYSTEMS } from '#shared/schema/device.ts'

/** What the mail `second-factor` tells. Functions of the database send it (app.mail_change). */
export const FACTOR_CHANGES = [
  'app-added',
  'app-replaced',
  'app-removed',
  'passkey-added',
  'passkey-removed',
  'counter-back',
  'codes-renewed',
  'codes-voided',
  'code-used',
  'few-codes',
  'wrong-codes',
  'reset-cancelled',
  'reset-done',
] as const

export type FactorChange = (typeof FACTOR_CHANGES)[number]

/** Why the mail `api-key` is sent: functions of migration 0027 send it. */
const KEY_REASONS = ['created', 'expires-14', 'expires-3'] as const

export type KeyReason = (typeof KEY_REASONS)[number]

const Id = v.pipe(v.string(), v.uuid())
const Place = v.object({ xact: v.pipe(v.string(), v.regex(/^\d{1,20}$/)), id: Id })
// Names that we choose, and no text of a request.
const UsedDevice = v.object({ browser: v.nullable(v.picklist(BROWSERS)), system: v.nullable(v.picklist(SYSTEMS)) })
const Nonce = v.pipe(v.string(), v.minLength(16))

/** Every kind of job: the schema of its payload, and the Lambda that is invoked after the commit instead of waiting for its schedule. */
export const JOB_KINDS = {
  mail: {
    payload: v.variant('template', [
      v.object({ template: v.literal('invitation'), invitation_id: Id, nonce: Nonce }),
      v.object({ template: v.literal('password-reset'), email: v.string(), nonce: Nonce }),
      v.object({ template: v.literal('email-verification'), user_id: Id, nonce: Nonce }),
      v.object({ template: v.literal('password-changed'), user_id: Id, device: v.optional(UsedDevice) }),
      v.object({ template: v.literal('second-factor'), user_id: Id, change: v.picklist(FACTOR_CHANGES) }),
      v.object({ template: v.literal('second-factor-setup'), user_id: Id, nonce: Nonce }),
      v.object({ template: v.literal('api-key'), user_id: Id, api_key_id: Id, reason: v.picklist(KEY_REASONS) }),
      // Without a time, the reset waits for an operator.
      v.object({
        template: v.literal('second-factor-reset'),
        user_id: Id,
        reset_id: Id,
        nonce: Nonce,
        effective_at: v.nullable(v.string()),
      }),
      v.object({ template: v.literal('new-sign-in'), user_id: Id, device: UsedDevice }),
      v.object({ template: v.literal('membership-added'), user_id: Id }),
      v.object({ template: v.literal('membership-removed'), user_id: Id }),
      v.object({ template: v.literal('role-changed'), user_id: Id }),
      // Adds a mail of the next kind for each member whom the tenant asks for a second factor, and who has none.
      v.object({ template: v.literal('second-factor-policy'), reminder: v.boolean() }),
      v.object({ template: v.literal('second-factor-required'), user_id: Id }),
      // To this owner of the tenant.
      v.object({ template: v.literal('member-left'), user_id: Id, membership_id: Id }),
      // To who invited this user.
      v.object({ template: v.literal('invitation-accepted'), user_id: Id }),
    ]),
    invokes: 'deliver-mail',
  },
  // app.enqueue_events adds them. A job sends the events between two places of the log that name the job, or only these of them.
  event: {
    payload: v.object({ from: Place, to: Place, ids: v.optional(v.array(Id)) }),
    invokes: 'publish-events',
  },
  'sync-catalog': { payload: v.object({ run_id: Id }), invokes: 'sync-catalog' },
  // Due when a reset of a second factor takes effect.
  'factor-reset': { payload: v.object({ reset_id: Id }), invokes: null },
  'verify-vendor': { payload: v.object({ account_id: Id }), invokes: null },
} as const satisfies Record<string, { payload: v.GenericSchema; invokes: InvokedJob | null }>

export type JobKind = keyof typeof JOB_KINDS
export type JobPayload<Kind extends JobKind> = v.InferOutput<(typeof JOB_KINDS)[Kind]['payload']>
