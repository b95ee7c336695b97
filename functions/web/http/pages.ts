import type { Page } from '#web/http/page.ts'
import { showAsset } from '#web/pages/assets.ts'
import { cancelReset, showCancelReset } from '#web/pages/cancel-reset.ts'
import { forgotPassword, showForgotPassword } from '#web/pages/forgot-password.ts'
import { healthz } from '#web/pages/healthz.ts'
import { home } from '#web/pages/home.ts'
import { acceptInvitation, showInvitation } from '#web/pages/invitation.ts'
import { chooseLanguage } from '#web/pages/language.ts'
import { showProblem } from '#web/pages/problem.ts'
import { resetPassword, showResetPassword } from '#web/pages/reset-password.ts'
import { chooseShop, listShops } from '#web/pages/shops.ts'
import { askCode, askRecoveryCode, finishByCode, finishByRecoveryCode } from '#web/pages/sign-in-second-factor.ts'
import { showSignIn, signIn, signInByPasskey } from '#web/pages/sign-in.ts'
import { signOut } from '#web/pages/sign-out.ts'
import { askKeyName, confirmKeyRevocation, listKeys, renameKey, revokeKey } from '#web/pages/api-keys/keys.ts'
import { askRotation, createKey, newKey, rotateKey } from '#web/pages/api-keys/new-secret.ts'
import { chooseDownload, downloadCsv, downloadNdjson } from '#web/pages/audit-log/download.ts'
import { listEntries } from '#web/pages/audit-log/list-entries.ts'
import { changeMemberRole, chooseRole } from '#web/pages/members/change-role.ts'
import { cancelInvitation, listInvitations, resendInvitation } from '#web/pages/members/invitations.ts'
import { invite } from '#web/pages/members/invite.ts'
import { listMembers } from '#web/pages/members/list-members.ts'
import { confirmEndOfSessions, endMemberSessions } from '#web/pages/members/end-sessions.ts'
import { confirmLeaving, leaveShop } from '#web/pages/members/leave.ts'
import { confirmFactorReset, requestFactorReset } from '#web/pages/members/reset-factor.ts'
import { confirmRemoval, removeMember } from '#web/pages/members/remove-member.ts'
import { deleteRole, editRole, updateRole } from '#web/pages/members/edit-role.ts'
import { createRole, newRole } from '#web/pages/members/new-role.ts'
import { listRoles } from '#web/pages/members/roles.ts'
import { changeLanguage, changePassword, showAccount } from '#web/pages/account/account.ts'
import { endOtherSessions, endSession, listSessions } from '#web/pages/account/sessions.ts'
import { addApp, sendSetupCode, showApp } from '#web/pages/account/app.ts'
import { askProof, giveProof } from '#web/pages/account/confirm.ts'
import { addPasskey, sendPasskeySetupCode, showPasskey, startPasskey } from '#web/pages/account/passkey.ts'
import { renewRecoveryCodes, showRecoveryCodes } from '#web/pages/account/recovery-codes.ts'
import {
  askName,
  confirmFactorRemoval,
  removeFactor,
  renameFactor,
  showFactors,
  startApp,
} from '#web/pages/account/second-factor.ts'
import { changeSettings, showSettings } from '#web/pages/settings.ts'
import { changePolicy, showPolicy } from '#web/pages/second-factor-policy.ts'
import {
  confirmRevocation,
  listAccounts,
  replaceSecret,
  revokeAccount,
  showSecret,
  startSync,
  verifyAccount,
} from '#web/pages/vendor-accounts/accounts.ts'
import { listRuns, showRun } from '#web/pages/vendor-accounts/sync.ts'
import { connectAccount, newAccount } from '#web/pages/vendor-accounts/connect.ts'
import { changePasswordAddress, favicon, robots, securityContact } from '#web/pages/well-known.ts'
import { start } from '#web/pages/start.ts'
import { resendVerification, showVerifyEmail, verifyEmail } from '#web/pages/verify-email.ts'

/** Every page of the front end, in the order of the navigation. The gateway's resources, the CSRF matrix and the tests of all pages are derived from it. */
export const PAGES: readonly Page[] = [
  healthz,
  showAsset,
  favicon,
  robots,
  changePasswordAddress,
  securityContact,
  home,
  showSignIn,
  signIn,
  signInByPasskey,
  askCode,
  finishByCode,
  askRecoveryCode,
  finishByRecoveryCode,
  signOut,
  chooseLanguage,
  showForgotPassword,
  forgotPassword,
  showResetPassword,
  resetPassword,
  showCancelReset,
  cancelReset,
  showVerifyEmail,
  verifyEmail,
  resendVerification,
  showInvitation,
  acceptInvitation,
  listShops,
  chooseShop,
  showProblem,
  start,
  listMembers,
  chooseRole,
  changeMemberRole,
  confirmRemoval,
  removeMember,
  confirmFactorReset,
  requestFactorReset,
  confirmEndOfSessions,
  endMemberSessions,
  confirmLeaving,
  leaveShop,
  listInvitations,
  invite,
  resendInvitation,
  cancelInvitation,
  listRoles,
  newRole,
  createRole,
  editRole,
  updateRole,
  deleteRole,
  listKeys,
  newKey,
  createKey,
  askKeyName,
  renameKey,
  askRotation,
  rotateKey,
  confirmKeyRevocation,
  revokeKey,
  listAccounts,
  newAccount,
  connectAccount,
  showSecret,
  replaceSecret,
  verifyAccount,
  confirmRevocation,
  revokeAccount,
  startSync,
  listRuns,
  showRun,
  showSettings,
  changeSettings,
  showPolicy,
  changePolicy,
  listEntries,
  chooseDownload,
  downloadCsv,
  downloadNdjson,
  showAccount,
  changeLanguage,
  changePassword,
  listSessions,
  endSession,
  endOtherSessions,
  showFactors,
  startApp,
  showApp,
  addApp,
  sendSetupCode,
  showPasskey,
  startPasskey,
  addPasskey,
  sendPasskeySetupCode,
  showRecoveryCodes,
  renewRecoveryCodes,
  askName,
  renameFactor,
  confirmFactorRemoval,
  removeFactor,
  askProof,
  giveProof,
]
