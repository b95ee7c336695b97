import { AUDIT_FIELDS, type AuditField, type AuditValues } from '#shared/audit/fields.ts'
import { EVERY_PERMISSION } from '#shared/identity/permissions.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import type { ActionTexts } from '#web/texts/audit-actions.ts'
import { auditLog } from '#web/texts/audit-log.ts'
import { numbersIn } from '#web/view/number.ts'
import { absolute } from '#web/view/time.ts'
import type { Ui } from '#web/view/ui.ts'

type Log = ReplyOf<'GET /v1/audit-log'>
export type Entry = Log['data'][number]

export type AuditTexts = (typeof auditLog)['en']

/** What the fields of entries are called, and what their values say. */
export interface Words {
  readonly actions: ActionTexts
  readonly label: (field: string) => string
  readonly value: (field: string, value: unknown) => string
}

const spaced = (code: string): string => code.replaceAll(/[_-]/g, ' ')
const isField = (name: string): name is AuditField => Object.hasOwn(AUDIT_FIELDS, name)
const kindOf = (name: string) => (isField(name) ? AUDIT_FIELDS[name] : 'text')

/** Whether a field of an entry says something to people. A field that a later version adds is shown by its name. */
export const isShown = (field: string): boolean => kindOf(field) !== 'internal'

/** Returns the words for entries of a shop with these roles. */
export function wordsOf(ui: Ui, roles: NonNullable<Log['roles']>, actionTexts: ActionTexts): Words {
  const { t, language } = ui
  const texts = auditLog[language]
  const actions: Readonly<Record<string, readonly [string, unknown]>> = actionTexts
  const labels = new Map(roles.map((role) => [role.code, roleName(language, role)]))
  const known = (table: Readonly<Record<string, string>>, code: string) =>
    Object.hasOwn(table, code) ? table[code] : undefined
  const permissions: Readonly<Record<string, string>> = t.roles.permissions
  const said: Partial<Record<ReturnType<typeof kindOf>, (code: string) => string>> = {
    role: (code) => labels.get(code) ?? code,
    permissions: (code) => (code === EVERY_PERMISSION ? t.roles.everything : (known(permissions, code) ?? code)),
    status: (code) => known(t.shops.statuses, code) ?? known(texts.dealStatuses, code) ?? spaced(code),
    zone: (name) => spaced(name.slice(name.lastIndexOf('/') + 1)),
    cause: (code) => known(texts.causes, code) ?? spaced(code),
    reason: (text) => known(texts.reasons, text) ?? text,
    codes: spaced,
    time: (time) => absolute(ui, time),
    action: (code) => (Object.hasOwn(actions, code) ? (actions[code]?.[0] ?? code) : code),
    email: shownEmail,
  }
  const one = (kind: ReturnType<typeof kindOf>, value: unknown): string => {
    if (typeof value === 'boolean') return value ? texts.yes : texts.no
    if (typeof value === 'number') return kind === 'number' ? String(value) : numbersIn(language).format(value)
    if (typeof value !== 'string') return JSON.stringify(value)
    return said[kind]?.(value) ?? value
  }
  return {
    actions: actionTexts,
    label: (field) => known(texts.fields, field) ?? spaced(field),
    value: (field, value) => {
      const items: readonly unknown[] = Array.isArray(value) ? value : [value]
      return items.length === 0 ? texts.nothing : items.map((item) => one(kindOf(field), item)).join(', ')
    },
  }
}

const ORDER = Object.keys(AUDIT_FIELDS)
const placeOf = (field: string): number => (isField(field) ? ORDER.indexOf(field) : ORDER.length)

/**
 * Returns what an entry changed, a text for each field: "Time zone: from New York to Chicago". `said`: fields that its sentence
 * names. They are left out, unless they had another value before.
 */
export function changesOf(entry: Entry, words: Words, texts: AuditTexts, said: ReadonlySet<string>): string[] {
  const before: AuditValues & Readonly<Record<string, unknown>> = entry.before ?? {}
  const after: AuditValues & Readonly<Record<string, unknown>> = entry.after ?? {}
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(isShown)
  const present = (value: unknown) =>
    value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
  return fields
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .flatMap((field) => {
      const [was, is] = [before[field], after[field]]
      const label = words.label(field)
      if (JSON.stringify(was) === JSON.stringify(is)) return []
      if (Array.isArray(was) && Array.isArray(is) && field === 'permissions')
        return [texts.list(label, ...parts(words, field, was, is))]
      if (present(was) && present(is)) return [texts.changed(label, words.value(field, was), words.value(field, is))]
      if (said.has(field)) return []
      return present(is)
        ? [texts.is(label, words.value(field, is))]
        : present(was)
          ? [texts.was(label, words.value(field, was))]
          : []
    })
}

/** Returns what was added to a list, and what was removed from it, each in words or null. */
function parts(
  words: Words,
  field: string,
  was: readonly unknown[],
  is: readonly unknown[],
): readonly [string | null, string | null] {
  const [added, removed] = [is.filter((item) => !was.includes(item)), was.filter((item) => !is.includes(item))]
  const inWords = (items: readonly unknown[]) => (items.length === 0 ? null : words.value(field, items))
  return [inWords(added), inWords(removed)]
}
