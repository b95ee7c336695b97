import type { AlterTableCmd, AlterTableStmt, ColumnDef, Constraint, CreateStmt, Node, RangeVar } from 'libpg-query'

// A deployment migrates while the functions of the release before still serve. So a migration expands what there is, the
// functions migrate to it, and a later release contracts. How long each statement keeps others out:
// https://www.postgresql.org/docs/17/explicit-locking.html#LOCKING-TABLES and
// https://www.postgresql.org/docs/17/sql-altertable.html (Notes).

/** Each rule by its name, and what to do in place of what it refuses. */
export const RULES = {
  drop: 'the release before still uses it: stop using it in one release and drop it in the next',
  rename: 'the release before knows the old name: add the new beside it, and drop the old a release later',
  'column-type':
    'rewrites the table or its indexes under ACCESS EXCLUSIVE, and the release before expects the old type: add a column',
  'set-not-null':
    'reads the whole table under ACCESS EXCLUSIVE: add check (COLUMN is not null) not valid, validate it in a later file, then set it',
  'not-null-without-default':
    'fails on a table with rows, and for every insert of the release before: give it a default',
  'validates-at-once':
    'reads the whole table while it keeps writes out: add it NOT VALID, and validate it in a later file (VALIDATE takes SHARE UPDATE EXCLUSIVE)',
  'validates-in-one-file':
    'the lock of adding the constraint lasts until the file commits: validate it in a later file',
  'builds-an-index':
    'builds an index while it keeps writes out: create index concurrently in a file of its own that begins with `-- migrate: no-transaction as identity_owner`, then add the constraint USING INDEX',
  'no-transaction':
    'such a file begins with `-- migrate: no-transaction as identity_owner` and is one statement: create index concurrently if not exists NAME on SCHEMA.TABLE, or drop index concurrently if exists',
  'rewrites-table':
    'writes the whole table anew under ACCESS EXCLUSIVE: add the column without it, fill it in batches, then set the default',
  'enum-value': 'the value cannot be used before this file commits nor ever be dropped: use text with a check',
  'changes-rows': 'every row that it changes stays locked until the file commits: let a job do it in batches',
  opaque: 'what it does is hidden from these rules: write statements',
  timeouts: 'the runner sets lock_timeout and statement_timeout for each file',
  'transaction-control':
    'each file is one transaction of the runner, together with the row that says that it was applied',
  'owner-role': 'a file begins with `set local role identity_owner`, so that no login owns what it makes',
  'tenant-guard':
    "a table with tenant_id is put under its guard in the file that makes it: select app.enforce_tenant('TABLE')",
  override: 'an override is `-- allow RULE: reason`, on the statement or right above it, and allows something',
} as const

export type Rule = keyof typeof RULES

/** What a rule refuses, and the table or column that it is about. */
export interface Refusal {
  readonly rule: Rule
  readonly what: string
}

/** What the files so far have made, which decides what a statement may do. */
export interface History {
  /** Tables, views, functions and types by name, with the number of the file that made them. */
  readonly made: Map<string, number>
  /** Constraints `TABLE NAME` that were added NOT VALID, with the file. */
  readonly unvalidated: Map<string, number>
  /** Check constraints `TABLE NAME` that say of one column that it is not null. */
  readonly notNull: Map<string, string>
  /** Columns `TABLE COLUMN` of which a valid constraint says so. */
  readonly proved: Set<string>
}

export const noHistory = (): History => ({
  made: new Map(),
  unvalidated: new Map(),
  notNull: new Map(),
  proved: new Set(),
})

/** The file that a statement stands in. `isNew` says of a name that no released database can have rows of it yet. */
export interface Place {
  readonly number: number
  readonly alone: boolean
  readonly isNew: (name: string) => boolean
}

/** `schema.name` of a table. */
export const nameOf = (table: RangeVar | undefined): string =>
  `${table?.schemaname ?? 'public'}.${table?.relname ?? ''}`

/** The parts of a qualified name, with dots between. */
export const words = (nodes: readonly Node[] | undefined): string =>
  (nodes ?? []).flatMap((node) => ('String' in node ? [node.String.sval ?? ''] : [])).join('.')

// These are STABLE: evaluated once, and kept for the rows that are there already.
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

/** What the rules refuse in one statement. Adds to the history what the statement makes. */
export function refusals(statement: Node, history: History, place: Place): Refusal[] {
  const { isNew } = place
  if ('AlterTableStmt' in statement) return alterTable(statement.AlterTableStmt, history, place)
  if ('CreateStmt' in statement) make(history, place, nameOf(statement.CreateStmt.relation), statement.CreateStmt)
  if ('ViewStmt' in statement) make(history, place, nameOf(statement.ViewStmt.view))
  if ('CreateFunctionStmt' in statement) make(history, place, words(statement.CreateFunctionStmt.funcname))
  if ('CreateEnumStmt' in statement) make(history, place, words(statement.CreateEnumStmt.typeName))
  if ('CompositeTypeStmt' in statement) make(history, place, nameOf(statement.CompositeTypeStmt.typevar))
  if ('IndexStmt' in statement) {
    const { concurrent = false, if_not_exists = false, idxname, relation } = statement.IndexStmt
    const table = nameOf(relation)
    if (concurrent !== place.alone) return [{ rule: concurrent ? 'no-transaction' : 'builds-an-index', what: table }]
    if (concurrent) {
      const whole = if_not_exists && idxname !== undefined && relation?.schemaname !== undefined
      return whole ? [] : [{ rule: 'no-transaction', what: table }]
    }
    return isNew(table) ? [] : [{ rule: 'builds-an-index', what: table }]
  }
  if ('DropStmt' in statement) {
    const { objects = [], removeType = '', concurrent = false, missing_ok = false } = statement.DropStmt
    if (removeType === 'OBJECT_INDEX') {
      return concurrent !== place.alone || (concurrent && !missing_ok)
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
  if ('UpdateStmt' in statement) return changesRows(statement.UpdateStmt.relation, place)
  if ('DeleteStmt' in statement) return changesRows(statement.DeleteStmt.relation, place)
  if ('TruncateStmt' in statement) {
    return (statement.TruncateStmt.relations ?? []).flatMap((node) =>
      'RangeVar' in node ? changesRows(node.RangeVar, place) : [],
    )
  }
  if ('VacuumStmt' in statement || 'ClusterStmt' in statement || 'ReindexStmt' in statement) {
    return [{ rule: 'rewrites-table', what: Object.keys(statement)[0]?.replace('Stmt', '').toLowerCase() ?? '' }]
  }
  if ('DoStmt' in statement) return place.isNew('a DO block') ? [] : [{ rule: 'opaque', what: 'a DO block' }]
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

function make(history: History, place: Place, name: string, table?: CreateStmt): void {
  if (!history.made.has(name)) history.made.set(name, place.number)
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

const changesRows = (table: RangeVar | undefined, { isNew }: Place): Refusal[] =>
  isNew(nameOf(table)) ? [] : [{ rule: 'changes-rows', what: nameOf(table) }]

function alterTable({ relation, cmds = [], objtype }: AlterTableStmt, history: History, place: Place): Refusal[] {
  if (objtype !== 'OBJECT_TABLE') return []
  const table = nameOf(relation)
  const found = cmds.flatMap((node) =>
    'AlterTableCmd' in node ? alter(table, node.AlterTableCmd, history, place) : [],
  )
  return place.isNew(table) ? [] : found
}

function alter(table: string, command: AlterTableCmd, history: History, place: Place): Refusal[] {
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
      return def !== undefined && 'Constraint' in def ? addConstraint(table, def.Constraint, history, place) : []
    case 'AT_ValidateConstraint': {
      const column = history.notNull.get(what)
      if (column !== undefined) history.proved.add(`${table} ${column}`)
      return history.unvalidated.get(what) === place.number ? [{ rule: 'validates-in-one-file', what }] : []
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
  // A foreign key of a column that is null in every row is not checked against the rows; a check is.
  if (of('CONSTR_CHECK') || (of('CONSTR_FOREIGN') && initial)) found.push({ rule: 'validates-at-once', what })
  if (of('CONSTR_UNIQUE') || of('CONSTR_PRIMARY')) found.push({ rule: 'builds-an-index', what })
  return found
}

function addConstraint(table: string, constraint: Constraint, history: History, place: Place): Refusal[] {
  const { contype, conname = '', skip_validation = false, raw_expr, indexname } = constraint
  const what = `${table} ${conname}`.trimEnd()
  if (contype === 'CONSTR_CHECK' || contype === 'CONSTR_FOREIGN' || contype === 'CONSTR_NOTNULL') {
    const column = raw_expr === undefined ? null : columnNotNull(raw_expr)
    if (column !== null) history.notNull.set(what, column)
    if (!skip_validation) {
      if (column !== null) history.proved.add(`${table} ${column}`)
      return [{ rule: 'validates-at-once', what }]
    }
    history.unvalidated.set(what, place.number)
    return []
  }
  return indexname === undefined ? [{ rule: 'builds-an-index', what }] : []
}

/** The column of `COLUMN is not null`, when that is the whole expression. */
function columnNotNull(expression: Node): string | null {
  if (!('NullTest' in expression) || expression.NullTest.nulltesttype !== 'IS_NOT_NULL') return null
  const { arg } = expression.NullTest
  return arg !== undefined && 'ColumnRef' in arg ? words(arg.ColumnRef.fields) : null
}
