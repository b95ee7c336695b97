import { fileURLToPath } from 'node:url'
import { loadModule, type Node, parseSync, scanSync } from 'libpg-query'
import { readMigrations } from '#shared/db/migrate.ts'
import { ACCOUNT_TABLES } from '#shared/doctor/catalogue-objects.ts'
import { type PreviousRelease, previousRelease } from './previous-release.ts'
import { nameOf, noHistory, type Refusal, refusals, type Rule, RULES, walk, words } from './migration-rules.ts'

/** A statement that breaks a rule of migration-rules.ts. `what` is the table or column. */
export interface Violation {
  readonly file: string
  readonly line: number
  readonly rule: Rule
  readonly what: string
}

/**
 * The number of the last file of the first release, or null before it. Until then no database has rows, so every file may
 * change what the others make. Set it once, with version 1.0.0.
 */
export const FIRST_RELEASE: number | null = null

interface Statement {
  readonly node: Node
  readonly firstLine: number
  readonly lastLine: number
}

interface Override {
  readonly rule: string
  readonly line: number
  used: boolean
}

/** What breaks code that uses it. An override of these is compared with the code of the previous release. */
const BREAKS: ReadonlySet<string> = new Set(['drop', 'rename', 'column-type'])

/**
 * Checks files `NNNN-name.sql`, given in order. Returns the violations. Throws on text that Postgres cannot parse. With `previous`, an
 * override does not allow what the code of that release still names.
 */
export async function lintMigrations(
  files: readonly { name: string; text: string }[],
  release = FIRST_RELEASE,
  previous: PreviousRelease | null = null,
): Promise<Violation[]> {
  await loadModule()
  const history = noHistory()
  return files.flatMap(({ name: file, text }) => {
    const number = Number.parseInt(file, 10)
    const { statements, overrides, commentLines } = read(file, text)
    const alone = text.startsWith('-- migrate: no-transaction as ')
    const isNew = (name: string) => release === null || number <= release || history.made.get(name) === number

    const found = statements.flatMap((statement, index): { line: number; rule: Rule; what: string }[] => {
      const broken: Refusal[] = refusals(statement.node, history, { number, alone, isNew })
      if (alone && (statements.length > 1 || !isIndexStatement(statement.node))) {
        broken.push({ rule: 'no-transaction', what: 'another statement' })
      }
      // The first file creates identity_owner, so it runs as the login that migrates.
      if (index === 0 && number > 1 && !alone && !setsOwner(statement.node)) {
        broken.push({ rule: 'owner-role', what: 'the first statement' })
      }
      const table = needsGuard(statement.node)
      if (table !== null && !statements.some(({ node }) => passedTo('app.enforce_tenant', node).includes(table))) {
        broken.push({ rule: 'tenant-guard', what: table })
      }
      if (setsPrivileges(statement.node)) broken.push({ rule: 'function-record', what: 'the privileges of a function' })
      const routine = newFunction(statement.node)
      if (routine !== null && !statements.some(({ node }) => passedTo('app.give', node).includes(routine))) {
        broken.push({ rule: 'function-record', what: routine })
      }
      let top = statement.firstLine
      while (commentLines.has(top - 1)) top -= 1
      const near = overrides.filter(({ line }) => line >= top && line <= statement.lastLine)
      const isAllowed = ({ rule }: Refusal) => {
        const allowed = near.filter((override) => override.rule === rule)
        for (const override of allowed) override.used = true
        return allowed.length > 0
      }
      return broken
        .flatMap((refusal) => {
          if (!isAllowed(refusal)) return refusal
          if (previous === null || previous.has(file) || !BREAKS.has(refusal.rule)) return []
          const [first] = previous.filesWith(refusal.what.split(' '))
          const stillUsed: Refusal = { rule: 'still-used', what: `${refusal.what} (${previous.name}: ${first})` }
          return first === undefined || isAllowed(stillUsed) ? [] : stillUsed
        })
        .map(({ rule, what }) => ({ line: statement.firstLine, rule, what }))
    })
    const unneeded = overrides
      .filter(({ used }) => !used)
      .map(({ line, rule }) => ({ line, rule: 'override', what: rule }) as const)
    return [...found, ...unneeded].map(({ line, rule, what }) => ({ file, line, rule, what }))
  })
}

/** Reads the statements and comments of a file. The parser's offsets count bytes. */
function read(file: string, text: string) {
  const bytes = Buffer.from(text)
  const lines = Uint32Array.from({ length: bytes.length + 1 }, () => 1)
  for (const [offset, byte] of bytes.entries()) lines[offset + 1] = (lines[offset] ?? 1) + (byte === 0x0a ? 1 : 0)
  const lineAt = (offset: number) => lines[offset] ?? 1
  const { tokens } = scanSync(text)
  const comments = tokens.filter(({ tokenName }) => tokenName === 'SQL_COMMENT' || tokenName === 'C_COMMENT')
  const words = tokens.filter((token) => !comments.includes(token))
  const codeLines = new Set(words.flatMap(({ start, end }) => [lineAt(start), lineAt(end)]))
  const overrides = comments.flatMap((comment): Override[] => {
    const [, rule, reason] = /^--\s*allow\s+(\S+?):?(?:\s+(.*))?$/.exec(comment.text) ?? []
    if (rule === undefined) return []
    return [{ rule: reason ? rule : `${rule} (no reason)`, line: lineAt(comment.start), used: false }]
  })
  const statements = (parse(file, text).stmts ?? []).flatMap(({ stmt, stmt_location = 0, stmt_len }): Statement[] => {
    const end = stmt_len === undefined ? bytes.length : stmt_location + stmt_len
    const own = words.filter((word) => word.start >= stmt_location && word.end <= end)
    const first = own[0]
    const last = own.at(-1)
    if (stmt === undefined || first === undefined || last === undefined) return []
    return [{ node: stmt, firstLine: lineAt(first.start), lastLine: lineAt(last.end) }]
  })
  const commentLines = new Set(comments.map(({ start }) => lineAt(start)).filter((line) => !codeLines.has(line)))
  return { statements, overrides, commentLines }
}

function parse(file: string, text: string) {
  try {
    return parseSync(text)
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

/** Returns the texts that a statement passes to a function. */
function passedTo(name: string, statement: Node): string[] {
  const texts: string[] = []
  walk(statement, (kind, node) => {
    if (kind !== 'FuncCall' || !('funcname' in node) || !Array.isArray(node.funcname)) return
    if (words(node.funcname) !== name || !('args' in node)) return
    walk(node.args, (constant, value) => {
      if (constant === 'sval' && 'sval' in value && typeof value.sval === 'string') texts.push(value.sval)
    })
  })
  return texts
}

/** Returns the function of the schema app that a statement adds, or null. One that it replaces keeps its comment, owner and callers. */
function newFunction(statement: Node): string | null {
  if (!('CreateFunctionStmt' in statement) || statement.CreateFunctionStmt.replace === true) return null
  const name = words(statement.CreateFunctionStmt.funcname)
  return name.startsWith('app.') ? name : null
}

const ROUTINES: ReadonlySet<unknown> = new Set(['OBJECT_FUNCTION', 'OBJECT_PROCEDURE', 'OBJECT_ROUTINE'])

/** Returns whether a statement sets the owner or the callers of functions. */
const setsPrivileges = (node: Node): boolean =>
  ('GrantStmt' in node && ROUTINES.has(node.GrantStmt.objtype)) ||
  ('AlterOwnerStmt' in node && ROUTINES.has(node.AlterOwnerStmt.objectType))

/** Returns the table that a statement creates, when it needs the tenant guard, or null. */
function needsGuard(statement: Node): string | null {
  if (!('CreateStmt' in statement)) return null
  const { relation, tableElts = [], partbound } = statement.CreateStmt
  const name = nameOf(relation)
  const hasTenant = tableElts.some((element) => 'ColumnDef' in element && element.ColumnDef.colname === 'tenant_id')
  if (relation?.relpersistence === 't' || ACCOUNT_TABLES.includes(name)) return null
  return hasTenant || partbound !== undefined ? name : null
}

const isIndexStatement = (node: Node): boolean =>
  'IndexStmt' in node || ('DropStmt' in node && node.DropStmt.removeType === 'OBJECT_INDEX')

function setsOwner(node: Node): boolean {
  if (!('VariableSetStmt' in node)) return false
  const { name, is_local, args = [] } = node.VariableSetStmt
  const [value] = args
  return (
    name === 'role' &&
    is_local === true &&
    value !== undefined &&
    'A_Const' in value &&
    value.A_Const.sval?.sval === 'identity_owner'
  )
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const previous = previousRelease(root)
  if (FIRST_RELEASE !== null && previous === null)
    console.error('No tag vN.N.N: overrides are not compared with the code of the previous release')
  const violations = await lintMigrations(await readMigrations(`${root}migrations/`), FIRST_RELEASE, previous)
  for (const { file, line, rule, what } of violations) {
    console.error(`migrations/${file}:${line} ${rule}: ${what}. ${RULES[rule]}`)
  }
  process.exitCode = violations.length > 0 ? 1 : 0
}
