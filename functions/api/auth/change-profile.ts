import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { Language } from '#shared/schema/language.ts'
import { changeLanguage } from './session-queries.ts'

export const changeProfile = endpoint({
  route: 'PATCH /v1/auth/profile',
  access: 'session',
  summary: 'Change the language of the mails to the user',
  audit: { none: 'it concerns no tenant and changes no access' },
  body: v.object({ language: Language }),
  async handle({ body, principal, sql }) {
    await changeLanguage(sql, principal.ticket, body.language)
    return noContent()
  },
})
