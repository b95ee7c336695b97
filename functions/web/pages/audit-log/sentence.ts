import type { ReplyOf } from '#shared/client/client.ts'
import type { Texts } from '#web/texts/texts.ts'

type Entry = ReplyOf<'GET /v1/audit-log'>['data'][number]

/** What a sentence names: who acted, on whom or what, and the values before and after. */
export interface Named {
  readonly who: string
  readonly target: string
  /** A value of the entry's `after`, or of `before` when `after` has none. */
  readonly value: (name: string) => string
}

/** Returns an entry as a sentence: "Ann Archer made Bob Baker admin." `names` are those of members, by membership or invitation. */
export function sentence(texts: Texts['auditLog'], entry: Entry, names: ReadonlyMap<string, string>): string {
  const { action, actor, target, before, after } = entry
  const value = (name: string): string => {
    const found = after?.[name] ?? before?.[name]
    return typeof found === 'string' || typeof found === 'number' ? String(found) : ''
  }
  const who = actor === null ? texts.system : (actor.full_name ?? actor.email)
  const named: Named = { who, target: names.get(target.id ?? '') ?? (value('email') || texts.somebody), value }
  const known: Readonly<Record<string, { readonly sentence: (named: Named) => string }>> = texts.actions
  return Object.hasOwn(known, action) ? (known[action]?.sentence(named) ?? action) : texts.other(who, action)
}
