import { shownEmail } from '#shared/schema/shown-email.ts'
import type { Named } from '#shared/audit/actions.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import type { Texts } from '#web/texts/texts.ts'

type Entry = ReplyOf<'GET /v1/audit-log'>['data'][number]

/** Returns an entry as a sentence: "Ann Archer made Bob Baker admin." `names` are those of members, by membership or invitation. */
export function sentence(texts: Texts['auditLog'], entry: Entry, names: ReadonlyMap<string, string>): string {
  const { action, actor, target, before, after } = entry
  const value = (name: string): string => {
    const found = after?.[name] ?? before?.[name]
    return typeof found === 'string' || typeof found === 'number' ? String(found) : ''
  }
  const who = actor === null ? texts.system : (actor.full_name ?? actor.email)
  const named: Named = {
    who,
    target: names.get(target.id ?? '') ?? (shownEmail(value('email')) || texts.somebody),
    value,
  }
  const known: Readonly<Record<string, Texts['auditLog']['actions'][keyof Texts['auditLog']['actions']]>> =
    texts.actions
  const [, say] = (Object.hasOwn(known, action) ? known[action] : undefined) ?? []
  return say === undefined ? texts.other(who, action) : say(named)
}
