import { AUDIT_TEXTS } from '#shared/audit/actions.ts'
import { byLanguage } from '#web/texts/by-language.ts'

/** How the pages show each action. Only the pages of the log import it, when they need it: a start of the function does not read it. */
export const auditActions = byLanguage(AUDIT_TEXTS)

export type ActionTexts = (typeof auditActions)['en']
