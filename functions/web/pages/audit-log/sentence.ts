import type { Named } from '#shared/audit/actions.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import type { AuditTexts, Entry, Words } from '#web/pages/audit-log/words.ts'
import type { ActionTexts } from '#web/texts/audit-actions.ts'

/** An entry as a sentence. */
export interface Said {
  /** "Ann Archer made Bob Baker Admin." */
  readonly text: string
  /** The name of the target in it. Empty: it has none. */
  readonly target: string
  /** The fields of the entry that it names. */
  readonly fields: ReadonlySet<string>
}

/** Returns who did it, in words. */
export function actorOf(texts: AuditTexts, { actor }: Pick<Entry, 'actor'>): string {
  if (actor === null) return texts.system
  return actor.type === 'key' ? texts.key(actor.name) : (actor.full_name ?? shownEmail(actor.email))
}

/** Says an entry as a sentence. */
export function say(texts: AuditTexts, entry: Entry, words: Words): Said {
  const { action, target, before, after } = entry
  const fields = new Set<string>()
  const value = (field: string): string => {
    fields.add(field)
    const found = after?.[field] ?? before?.[field]
    return found === undefined || found === null ? '' : words.value(field, found)
  }
  const who = actorOf(texts, entry)
  const email = after?.['email'] ?? before?.['email']
  const name = shownEmail(target.name ?? (typeof email === 'string' ? email : ''))
  const named: Named = {
    who,
    target: name === '' ? texts.somebody : name,
    thing: (unnamed, kind) => (name === '' ? unnamed : `${kind} ${name}`),
    value,
  }
  const known: Readonly<Record<string, ActionTexts[keyof ActionTexts]>> = words.actions
  const [, sentence] = (Object.hasOwn(known, action) ? known[action] : undefined) ?? []
  const text = sentence === undefined ? texts.other(who, action) : sentence(named)
  if (typeof email === 'string' && text.includes(shownEmail(email))) fields.add('email')
  return { text, target: name, fields }
}
