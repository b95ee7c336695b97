import type { AlterTableCmd, AlterTableStmt, ColumnDef, Constraint, CreateStmt, Node, RangeVar } from 'libpg-query'

// A deployment migrates while the functions of the previous release still serve. So a migration only adds, the functions
// begin to use what it added, and a later release removes what is unused. For the locks of each statement see
// https://www.postgresql.org/docs/17/explicit-locking.html#LOCKING-TABLES and
// https://www.postgresql.org/docs/17/sql-altertable.html (Notes).

/** Each rule by name: why it refuses a statement, and what to write instead. */
export const RULES = {
  drop: 'the previous release still uses it: stop using it in one release and drop it in the next',
  rename: 'the previous release uses the old name: add the new one beside it, and drop the old one a release later',
  'still-used':
    'the code of the previous release names it, and serves while this file runs: release code without it first, and tag that release',
  'column-type':
    'rewrites the table or its indexes under ACCESS EXCLUSIVE, and the previous release expects the old type: add a column',
  'set-not-null':
    'reads the whole table under ACCESS EXCLUSIVE: add check (COLUMN is not null) not valid, validate it in a later file, then set it',
  'not-null-without-default':
    'fails on a table with rows, and for every insert of the previous release: give it a default',
  'validates-at-once':
    'reads the whole table while it blocks writes: add it NOT VALID, and validate it in a later file (VALIDATE takes SHARE UPDATE EXCLUSIVE)',
  'validates-in-one-file':
    'the lock of adding the constraint lasts until the file commits: validate it in a later file',
  'builds-an-index':
    'builds an index while it blocks writes: create index concurrently in a file of its own that begins with `-- migrate: no-transaction as identity_owner`, then add the constraint USING INDEX',
  'no-transaction':
    'such a file begins with `-- migrate: no-transaction as identity_owner` and is one statement: create index concurrently if not exists NAME on SCHEMA.TABLE, or drop index concurrently if exists',
  'rewrites-table':
    'rewrites the whole table under ACCESS EXCLUSIVE: add the column without it, fill it in batches, then set the default',
  'enum-value': 'the value cannot be used before this file commits, and can never be dropped: use text with a check',
  'changes-rows': 'every changed row stays locked until the file commits: let a job change them in batches',
  opaque: 'these rules cannot see inside a DO block: write statements',
  timeouts: 'the runner sets lock_timeout and statement_timeout for each file',
  'transaction-control': 'the runner puts each file and the row that records it into one transaction',
  'owner-role': 'a file begins with `set local role identity_owner`, so that no login owns what it creates',
  'tenant-guard': "the file that creates a table with tenant_id calls select app.enforce_tenant('TABLE')",
  'function-record':
    'the comment on a function names its owner and its callers, and one select app.give(NAME, …) in the same file sets them: see migrations/README.md',
  override: 'an override is `-- allow RULE: reason`, on the statement or directly above it, and must be needed',
} as const

export type Rule = keyof typeof RULES

/** A broken rule, and the table or column. */
export interface Refusal {
  readonly rule: Rule
  readonly what: string
}

/** What the files before a statement created. It decides what the statement may do. */
export interface History {
  /** Tables, views, functions and types by name, with the number of the file that created them. */
  readonly made: Map<string, number>
  /** Constraints `TABLE NAME` that were added NOT VALID, with the number of the file. */
  readonly unvalidated: Map<string, number>
  /** Check constraints `TABLE NAME` of the form `COLUMN is not null`, with the column. */
  readonly notNull: Map<string, string>
  /** Columns `TABLE COLUMN` that a valid constraint proves to be not null. */
  readonly proved: Set<string>
}

export const noHistory = (): History => ({
  made: new Map(),
  unvalidated: new Map(),
  notNull: new Map(),
  proved: new Set(),
})

/** The file of a statement. `isNew` returns whether no released database can contain an object of this name. */
export interface FileContext {
  readonly number: number
  readonly alone: boolean
  readonly isNew: (name: string) => boolean
}

/** Returns `schema.name` of a table. */
export const nameOf = (table: RangeVar | undefined): string =>
  `${table?.schemaname ?? 'public'}.${table?.relname ?? ''}`

/** Joins the parts of a qualified name with dots. */
export const words = (nodes: readonly Node[] | undefined): string =>
  (nodes ?? []).flatMap((node) => ('String' in node ? [node.String.sval ?? ''] : [])).join('.')

// STABLE functions: Postgres evaluates such a default once for all existing rows, and does not rewrite the table.
const STABLE_FUNCTIONS = new Set([
  'now',
  'transaction_timestamp',
  'statement_timestamp',
  'current_setting',
  'current_tenant',
])

/** Calls `see` with every node of a tree. */
export function walk(tree: unknown, see: (kind: string, node: object) => void): void {
  if (typeof tree !== 'object' || tree === null) return
  for (const [kind, node] of Object.entries(tree)) {
    if (typeof node === 'object' && node !== null && !Array.isArray(node)) see(kind, node)
    walk(node, see)
  }
}

function isVolatile(expression: Node | undefined): boolean {
  let found = false
  walk(expression, (kind, node) => {
    if (kind !== 'FuncCall' || !('funcname' in node) || !Array.isArray(node.funcname)) return
    if (!STABLE_FUNCTIONS.has(words(node.funcname).split('.').at(-1) ?? '')) found = true
  })
  return found
}

/** Returns the rules that a statement breaks. Adds what it creates to the history. */
export function refusals(statement: Node, history: History, file: FileContext): Refusal[] {
  const { isNew } = file
  if ('AlterTableStmt' in statement) return alterTable(statement.AlterTableStmt, history, file)
  if ('CreateStmt' in statement) make(history, file, nameOf(statement.CreateStmt.relation), statement.CreateStmt)
  if ('ViewStmt' in statement) make(history, file, nameOf(statement.ViewStmt.view))
  if ('CreateFunctionStmt' in statement) make(history, file, words(statement.CreateFunctionStmt.funcname))
  if ('CreateEnumStmt' in statement) make(history, file, words(statement.CreateEnumStmt.typeName))
  if ('CompositeTypeStmt' in statement) make(history, file, nameOf(statement.CompositeTypeStmt.typevar))
  if ('IndexStmt' in statement) {
    const { concurrent = false, if_not_exists = false, idxname, relation } = statement.IndexStmt
    const table = nameOf(relation)
    if (concurrent !== file.alone) return [{ rule: concurrent ? 'no-transaction' : 'builds-an-index', what: table }]
    if (concurrent) {
      const whole = if_not_exists && idxname !== undefined && relation?.schemaname !== undefined
      return whole ? [] : [{ rule: 'no-transaction', what: table }]
    }
    return isNew(table) ? [] : [{ rule: 'builds-an-index', what: table }]
  }
  if ('DropStmt' in statement) {
    const { objects = [], removeType = '', concurrent = false, missing_ok = false } = statement.DropStmt
    if (removeType === 'OBJECT_INDEX') {
      return concurrent !== file.alone || (concurrent && !missing_ok)
        ? [{ rule: 'no-transaction', what: 'drop index' }]
        : []
    }
    const kinds = [
      'TABLE',
      'VIEW',
      'MATVIEW',
      'FUNCTION',
      'PROCEDURE',
      'ROUTINE',
      'TYPE',
      'DOMAIN',
      'SEQUENCE',
      'SCHEMA',
    ]
    if (!kinds.includes(removeType.replace('OBJECT_', ''))) return []
    return objects.map(dropped).flatMap((what): Refusal[] => (isNew(what) ? [] : [{ rule: 'drop', what }]))
  }
  if ('RenameStmt' in statement) {
    const { renameType = '', relation, object, subname } = statement.RenameStmt
    if (!/^OBJECT_(TABLE|COLUMN|VIEW|MATVIEW|FUNCTION|PROCEDURE|TYPE|ATTRIBUTE|SCHEMA|SEQUENCE)$/.test(renameType))
      return []
    const what = relation === undefined ? dropped(object) : nameOf(relation)
    return isNew(what) ? [] : [{ rule: 'rename', what: [what, subname].filter(Boolean).join(' ') }]
  }
  if ('AlterObjectSchemaStmt' in statement) {
    const { relation, object } = statement.AlterObjectSchemaStmt
    const what = relation === undefined ? dropped(object) : nameOf(relation)
    return isNew(what) ? [] : [{ rule: 'rename', what }]
  }
  if ('AlterEnumStmt' in statement) {
    const what = words(statement.AlterEnumStmt.typeName)
    return isNew(what) ? [] : [{ rule: 'enum-value', what }]
  }
  if ('UpdateStmt' in statement) return changesRows(statement.UpdateStmt.relation, file)
  if ('DeleteStmt' in statement) return changesRows(statement.DeleteStmt.relation, file)
  if ('TruncateStmt' in statement) {
    return (statement.TruncateStmt.relations ?? []).flatMap((node) =>
      'RangeVar' in node ? changesRows(node.RangeVar, file) : [],
    )
  }
  if ('VacuumStmt' in statement || 'ClusterStmt' in statement || 'ReindexStmt' in statement) {
    return [{ rule: 'rewrites-table', what: Object.keys(statement)[0]?.replace('Stmt', '').toLowerCase() ?? '' }]
  }
  if ('DoStmt' in statement) return file.isNew('a DO block') ? [] : [{ rule: 'opaque', what: 'a DO block' }]
  if ('TransactionStmt' in statement)
    return [{ rule: 'transaction-control', what: 'begin, commit, rollback, savepoint' }]
  if ('VariableSetStmt' in statement) {
    const { name = '' } = statement.VariableSetStmt
    return /^(lock|statement|idle_in_transaction_session|transaction)_timeout$/.test(name)
      ? [{ rule: 'timeouts', what: name }]
      : []
  }
  return []
}

function make(history: History, file: FileContext, name: string, table?: CreateStmt): void {
  if (!history.made.has(name)) history.made.set(name, file.number)
  for (const element of table?.tableElts ?? []) {
    if (!('ColumnDef' in element)) continue
    const { colname, constraints = [] } = element.ColumnDef
    if (constraints.some((node) => 'Constraint' in node && node.Constraint.contype === 'CONSTR_NOTNULL')) {
      history.proved.add(`${name} ${colname}`)
    }
  }
}

function dropped(object: Node | undefined): string {
  if (object === undefined) return ''
  if ('List' in object) return words(object.List.items)
  if ('ObjectWithArgs' in object) return words(object.ObjectWithArgs.objname)
  if ('TypeName' in object) return words(object.TypeName.names)
  return words([object])
}

const changesRows = (table: RangeVar | undefined, { isNew }: FileContext): Refusal[] =>
  isNew(nameOf(table)) ? [] : [{ rule: 'changes-rows', what: nameOf(table) }]

function alterTable({ relation, cmds = [], objtype }: AlterTableStmt, history: History, file: FileContext): Refusal[] {
  if (objtype !== 'OBJECT_TABLE') return []
  const table = nameOf(relation)
  const found = cmds.flatMap((node) => ('AlterTableCmd' in node ? alter(table, node.AlterTableCmd, history, file) : []))
  return file.isNew(table) ? [] : found
}

function alter(table: string, command: AlterTableCmd, history: History, file: FileContext): Refusal[] {
  const { name = '', def } = command
  const kind: string = command.subtype ?? ''
  const what = `${table} ${name}`.trimEnd()
  switch (kind) {
    case 'AT_DropColumn':
      return [{ rule: 'drop', what }]
    case 'AT_AlterColumnType':
      return [{ rule: 'column-type', what }]
    case 'AT_SetNotNull':
      return history.proved.has(what) ? [] : [{ rule: 'set-not-null', what }]
    case 'AT_AddColumn':
      return def !== undefined && 'ColumnDef' in def ? addColumn(table, def.ColumnDef) : []
    case 'AT_AddConstraint':
      return def !== undefined && 'Constraint' in def ? addConstraint(table, def.Constraint, history, file) : []
    case 'AT_ValidateConstraint': {
      const column = history.notNull.get(what)
      if (column !== undefined) history.proved.add(`${table} ${column}`)
      return history.unvalidated.get(what) === file.number ? [{ rule: 'validates-in-one-file', what }] : []
    }
    case 'AT_SetLogged':
    case 'AT_SetUnLogged':
    case 'AT_SetAccessMethod':
    case 'AT_SetTableSpace':
    case 'AT_SetExpression':
    case 'AT_AddIdentity':
      return [{ rule: 'rewrites-table', what }]
    default:
      return []
  }
}

function addColumn(table: string, { colname, typeName, constraints = [] }: ColumnDef): Refusal[] {
  const what = `${table} ${colname}`
  const given = constraints.flatMap((node) => ('Constraint' in node ? [node.Constraint] : []))
  const of = (kind: Constraint['contype']) => given.find(({ contype }) => contype === kind)
  const initial = of('CONSTR_DEFAULT')
  const found: Refusal[] = []
  const serial = /serial/.test(words(typeName?.names))
  if (serial || of('CONSTR_IDENTITY') || of('CONSTR_GENERATED') || isVolatile(initial?.raw_expr)) {
    found.push({ rule: 'rewrites-table', what })
  } else if (of('CONSTR_NOTNULL') && !initial) {
    found.push({ rule: 'not-null-without-default', what })
  }
  // A new column without a default is null in every row. A foreign key skips nulls, but a check reads every row.
  if (of('CONSTR_CHECK') || (of('CONSTR_FOREIGN') && initial)) found.push({ rule: 'validates-at-once', what })
  if (of('CONSTR_UNIQUE') || of('CONSTR_PRIMARY')) found.push({ rule: 'builds-an-index', what })
  return found
}

function addConstraint(table: string, constraint: Constraint, history: History, file: FileContext): Refusal[] {
  const { contype, conname = '', skip_validation = false, raw_expr, indexname } = constraint
  const what = `${table} ${conname}`.trimEnd()
  if (contype === 'CONSTR_CHECK' || contype === 'CONSTR_FOREIGN' || contype === 'CONSTR_NOTNULL') {
    const column = raw_expr === undefined ? null : columnNotNull(raw_expr)
    if (column !== null) history.notNull.set(what, column)
    if (!skip_validation) {
      if (column !== null) history.proved.add(`${table} ${column}`)
      return [{ rule: 'validates-at-once', what }]
    }
    history.unvalidated.set(what, file.number)
    return []
  }
  return indexname === undefined ? [{ rule: 'builds-an-index', what }] : []
}

/** Returns the column when the expression is `COLUMN is not null`, or null. */
function columnNotNull(expression: Node): string | null {
  if (!('NullTest' in expression) || expression.NullTest.nulltesttype !== 'IS_NOT_NULL') return null
  const { arg } = expression.NullTest
  return arg !== undefined && 'ColumnRef' in arg ? words(arg.ColumnRef.fields) : null
}
