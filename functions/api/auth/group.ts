import { routeGroup } from '#shared/http/group.ts'
import { acceptInvitation } from './accept-invitation.ts'
import { cancelFactorReset } from './cancel-factor-reset.ts'
import { changeProfile } from './change-profile.ts'
import { changePassword } from './change-password.ts'
import { endSession } from './end-session.ts'
import { forgotPassword } from './forgot-password.ts'
import { inspectFactorReset } from './inspect-factor-reset.ts'
import { inspectInvitation } from './inspect-invitation.ts'
import { inspectReset } from './inspect-reset.ts'
import { inspectVerification } from './inspect-verification.ts'
import { leaveTenant } from './leave-tenant.ts'
import { listSessions } from './list-sessions.ts'
import { listTenants } from './list-tenants.ts'
import { login } from './login.ts'
import { readSession } from './read-session.ts'
import { resendVerification } from './resend-verification.ts'
import { resetPassword } from './reset-password.ts'
import { revokeOtherSessions } from './revoke-other-sessions.ts'
import { revokeSession } from './revoke-session.ts'
import { selectTenant } from './select-tenant.ts'
import { addApp } from './add-app.ts'
import { addPasskey } from './add-passkey.ts'
import { finishSignIn } from './finish-sign-in.ts'
import { listFactors } from './list-factors.ts'
import { makeDraft } from './make-draft.ts'
import { newPasskeyOptions } from './new-passkey-options.ts'
import { readDraft } from './read-draft.ts'
import { removeFactor } from './remove-factor.ts'
import { renameFactor } from './rename-factor.ts'
import { renewRecoveryCodes } from './renew-recovery-codes.ts'
import { requestSetupCode } from './request-setup-code.ts'
import { signInByPasskey } from './sign-in-by-passkey.ts'
import { signInPasskeyOptions } from './sign-in-passkey-options.ts'
import { stepUp } from './step-up.ts'
import { stepUpPasskeyOptions } from './step-up-passkey-options.ts'
import { verifyEmail } from './verify-email.ts'

export const group = routeGroup({
  name: 'auth',
  role: 'auth',
  bodyLimitBytes: 16 * 1024,
  endpoints: [
    login,
    finishSignIn,
    signInPasskeyOptions,
    signInByPasskey,
    stepUp,
    stepUpPasskeyOptions,
    listFactors,
    requestSetupCode,
    makeDraft,
    readDraft,
    addApp,
    newPasskeyOptions,
    addPasskey,
    renewRecoveryCodes,
    renameFactor,
    removeFactor,
    inspectFactorReset,
    cancelFactorReset,
    readSession,
    endSession,
    listTenants,
    selectTenant,
    leaveTenant,
    listSessions,
    revokeSession,
    revokeOtherSessions,
    changePassword,
    changeProfile,
    forgotPassword,
    inspectReset,
    resetPassword,
    inspectVerification,
    verifyEmail,
    resendVerification,
    inspectInvitation,
    acceptInvitation,
  ],
})
