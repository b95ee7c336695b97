import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { isStateful, STATEFUL } from '#infra/aws/stateful.ts'

const HELP = `aws cloudformation describe-change-set --stack-name NAME --change-set-name NAME | node infra/tools/change-set.ts [--allow ID]...

Lists what a change set of CloudFormation does, the replaced and removed resources first. Fails if it replaces or removes a
resource that holds data, or makes CloudFormation generate its secret again. --allow names a resource, by its logical id, to which
this may happen.
Exit codes: 0 nothing of it, 1 refused, 2 wrong usage.`

const Change = v.object({
  Action: v.string(),
  LogicalResourceId: v.string(),
  ResourceType: v.string(),
  /** True, Conditional or False. Absent for a resource that is added or removed. */
  Replacement: v.optional(v.string(), 'False'),
  Details: v.optional(v.array(v.object({ Target: v.optional(v.object({ Name: v.optional(v.string()) })) })), []),
})
const ChangeSet = v.object({
  Status: v.string(),
  StatusReason: v.optional(v.string(), ''),
  Changes: v.optional(v.array(v.object({ ResourceChange: v.optional(Change) })), []),
})

// What CloudFormation says of an empty change set.
const NOTHING = /didn't contain changes|No updates are to be performed/

type Change = v.InferOutput<typeof Change>

/** Whether CloudFormation replaces or removes the resource, or may do so: it does not know before another one has changed. */
const ends = ({ Action, Replacement }: Change): boolean => Action === 'Remove' || Replacement !== 'False'

/** Whether it changes a property that decides which data the resource holds. */
const decides = ({ ResourceType, Details }: Change): boolean =>
  Details.some(({ Target }) => (STATEFUL[ResourceType] ?? []).includes(Target?.Name ?? ''))

/**
 * Examines the output of `aws cloudformation describe-change-set`. Returns a line for each resource, and the ids of those that hold data
 * and would lose it. Throws for another text, and for a change set that is not complete.
 */
export function examine(output: string): { lines: string[]; lost: string[] } {
  const { Status, StatusReason, Changes } = v.parse(ChangeSet, JSON.parse(output))
  if (Status === 'FAILED' && NOTHING.test(StatusReason)) return { lines: ['Nothing changes'], lost: [] }
  if (Status !== 'CREATE_COMPLETE') throw new Error(`The change set is ${Status}: ${StatusReason}`)
  const changes = Changes.flatMap(({ ResourceChange }) => ResourceChange ?? [])
  const lost = changes.filter(
    (change) =>
      change.Action !== 'Add' &&
      isStateful(change.LogicalResourceId, change.ResourceType) &&
      (ends(change) || decides(change)),
  )
  const line = (change: Change) => {
    const { Action, LogicalResourceId: id, ResourceType, Replacement } = change
    const what = Replacement === 'False' ? Action : Replacement === 'True' ? 'REPLACE' : 'REPLACE?'
    return `${(Action === 'Remove' ? 'REMOVE' : what).padEnd(8)} ${id} (${ResourceType})${lost.includes(change) ? ' holds data' : ''}`
  }
  const ordered = changes.toSorted((one, other) => Number(ends(other)) - Number(ends(one)))
  return { lines: ordered.map(line), lost: lost.map(({ LogicalResourceId }) => LogicalResourceId) }
}

/** Runs a command line, and returns its exit code. */
export function changeSet(words: readonly string[], output: string, write: Pick<Console, 'log' | 'error'>): number {
  try {
    const options = { allow: { type: 'string', multiple: true }, help: { type: 'boolean' } } as const
    const { values } = parseArgs({ args: [...words], options })
    if (values.help === true) {
      write.log(HELP)
      return 0
    }
    const { lines, lost } = examine(output)
    for (const each of lines) write.log(each)
    const refused = lost.filter((id) => !(values.allow ?? []).includes(id))
    for (const id of refused)
      write.error(`${id} holds data that would be lost. Read infra/runbook/releases.md, "Replace what holds data".`)
    return refused.length === 0 ? 0 : 1
  } catch (error) {
    write.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    return 2
  }
}

if (import.meta.main) {
  const words = process.argv.slice(2)
  process.exitCode = changeSet(words, words.includes('--help') ? '' : await text(process.stdin), console)
}
