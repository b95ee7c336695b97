import { createHash } from 'node:crypto'
import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import { Language } from '#shared/schema/language.ts'
import { ProblemError } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { fieldMessage, FormRefused, refusedMessage } from '#web/http/refusal.ts'
import { redirect } from '#web/http/reply.ts'
import { addressesIn } from '#web/pages/members/addresses.ts'
import { firstInvitations, unlessJustSent } from '#web/pages/members/invitations.ts'

/** The API sends at most 100 invitations of a shop in an hour. */
const MOST = 20
/** A cookie carries the names of the notice. */
const MOST_CHARACTERS = 1000

/** Invites each address by a call of its own. Those that are refused stand in the form again, each with the reason. */
export const invite = page({
  route: 'POST /s/{slug}/invitations',
  access: { permission: 'member.manage' },
  stepUp: 'POST /v1/members/invite',
  creates: true,
  form: v.object({ email: v.string(), role: v.string(), language: v.optional(Language) }),
  async handle(context) {
    const { params, form, call, t, language, idempotencyKey } = context
    const { role, language: ofMail } = form
    const addresses = addressesIn(form.email)
    if (addresses.length === 0) throw new FormRefused(fieldMessage('email', t.fieldErrors.required))
    if (addresses.length > MOST)
      throw new FormRefused(fieldMessage('email', t.invitations.tooMany(addresses.length, MOST)))
    const open = await call('GET /v1/members/invitations', { query: { include: 'roles', limit: 100 } })
    const names = new Map((open.roles ?? []).map((each) => [each.code, roleName(language, each)]))
    const sent: string[] = []
    const refused: { address: string; message: string }[] = []
    for (const email of addresses) {
      const isIt = (each: { email: string }) => each.email.toLowerCase() === email.toLowerCase()
      const before = open.data.find(isIt)?.role ?? role
      const key = idempotencyKey === undefined ? undefined : keyFor(idempotencyKey, email)
      try {
        const sending = call('POST /v1/members/invite', {
          body: { email, role, language: ofMail },
          idempotencyKey: key,
        })
        await unlessJustSent(sending, context, (each) => isIt(each) && each.role === role)
        sent.push(
          before === role ? shownEmail(email) : t.invitations.before(shownEmail(email), names.get(before) ?? before),
        )
      } catch (error) {
        const message = error instanceof ProblemError ? refusedMessage(error, 'email', context) : null
        if (message === null && sent.length === 0) throw error
        refused.push({ address: email, message: message ?? t.problems.other })
      }
    }
    const say = (who: string) =>
      t.invitations.notices['invitation-sent']({ who, role: names.get(role) ?? role, shop: '', key: '' })
    if (refused.length > 0)
      throw new FormRefused(
        ...refused.map(({ address, message }) =>
          fieldMessage('email', addresses.length === 1 ? message : `${shownEmail(address)}: ${message}`),
        ),
      ).after(sent.map(say), { email: refused.map(({ address }) => address).join('\n') })
    const all = new Intl.ListFormat(language).format(sent)
    const who = all.length > MOST_CHARACTERS ? t.invitations.people(sent.length) : all
    const about = { who, role: names.get(role) ?? role }
    return redirect(shopPath(params.slug, '/invitations'), { notice: 'invitation-sent', about })
  },
  again: (context) => firstInvitations(context),
})

/** Returns the key of one of several invitations that a form sends: a UUID, the same for a second press. */
function keyFor(key: string, email: string): string {
  const digits = createHash('sha256').update(key).update(email).digest('hex')
  return [8, 12, 16, 20, 32].map((end, at) => digits.slice([0, 8, 12, 16, 20][at], end)).join('-')
}
