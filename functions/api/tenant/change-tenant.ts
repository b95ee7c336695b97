import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { errorCode, FOREIGN_KEY_VIOLATION } from '#shared/db/failure.ts'
import type { Fault } from '#shared/schema/field-error.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { etagOf, okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { JSON_TYPE } from '#shared/http/media-type.ts'
import { invalid, Problem } from '#shared/base/problem.ts'
import { fault } from '#shared/schema/fault.ts'
import { LegalName } from '#shared/schema/name.ts'
import { findTenant, knowsTimezone, updateTenant } from './queries.ts'
import { fit, mergePatch, SettingsPatch } from './settings.ts'
import { OwnTenant } from './tenant.ts'

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
const UNKNOWN_TIMEZONE: Fault = { code: 'unknown', kind: 'a time zone' }

export const changeTenant = endpoint({
  route: 'PATCH /v1/tenant',
  // Exclusive, so that the ETag that If-Match names is still that of the tenant when it changes.
  access: { permission: 'company.write', exclusive: true },
  summary: 'Change the tenant by a JSON merge patch; null removes a setting',
  body: v.strictObject({
    legal_name: v.optional(LegalName),
    timezone: v.optional(
      v.pipe(v.string(), v.check(isTimezone, fault(UNKNOWN_TIMEZONE)), v.examples(['America/Chicago'])),
    ),
    currency: v.optional(
      v.pipe(
        v.string(),
        v.check((code) => CURRENCIES.has(code), fault({ code: 'unknown', kind: 'a currency of ISO 4217' })),
        v.examples(['USD']),
      ),
    ),
    settings: v.optional(SettingsPatch),
  }),
  reply: OwnTenant,
  etag: true,
  // A merge patch (RFC 7396).
  accepts: [JSON_TYPE, 'application/merge-patch+json'],
  problems: ['currency-in-use'],
  async handle(context) {
    const { body, ifMatch, sql } = context
    const tenant = await findTenant(sql)
    requireMatch(ifMatch, tenant)
    const { legal_name: legalName = tenant.legal_name, timezone = tenant.timezone, currency = tenant.currency } = body
    const settings = mergePatch(tenant.settings, body.settings ?? {})
    if (!fit(settings)) throw invalid([{ pointer: '#/settings', code: 'settings-too-large' }])
    if (timezone !== tenant.timezone && !(await knowsTimezone(sql, timezone)))
      throw invalid([{ pointer: '#/timezone', ...UNKNOWN_TIMEZONE }])
    const wanted = { ...tenant, legal_name: legalName, timezone, currency, settings }
    if (etagOf(wanted) === etagOf(tenant)) return okWithEtag(tenant)
    const changed = await updateTenant(sql, wanted).catch((error: unknown) => {
      if (errorCode(error) !== FOREIGN_KEY_VIOLATION) throw error
      throw new Problem('currency-in-use', { detail: 'The tenant has deals in its currency.' })
    })
    await recordAudit(context, {
      action: 'tenant.changed',
      targetId: tenant.id,
      before: audited(tenant),
      after: { ...audited(changed), changed_settings: Object.keys(body.settings ?? {}).toSorted() },
    })
    return okWithEtag(changed)
  },
})

/** The names of changed settings are audited, not their values: those may be large. */
const audited = ({ legal_name, timezone, currency }: OwnTenant) => ({ legal_name, timezone, currency })

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(name)
  } catch {
    return false
  }
}
