// Rules of the linter for SQL in tagged templates. .oxlintrc.json names this file.

/** Postgres reads these as floating point, or makes numbers of JSON of them, which JavaScript reads as floating point. */
const FLOATING_MONEY = [
  /\b(?:unit_price|total)\b\w*\)*\s*::\s*(?:float|real|double|money)/,
  /\b(?:jsonb?_build_\w+|jsonb?_agg|jsonb?_object_agg|to_jsonb?|row_to_json)\((?:[^()]|\([^()]*\))*\b(?:unit_price|total)\b(?!'|::text)/,
]

/** Returns what is wrong with the text of a template, as it stands in the file. */
export function faultsOfSql(raw: string): string[] {
  const hasLoneBackslash = raw.replaceAll('\\\\', '').includes('\\')
  return [
    ...(hasLoneBackslash ? ['JavaScript drops this backslash before Postgres reads the statement: write two'] : []),
    ...(FLOATING_MONEY.some((each) => each.test(raw)) ? ['money leaves Postgres as numeric, or in JSON as text'] : []),
  ]
}

interface Name {
  readonly name?: string
  readonly property?: { readonly name?: string }
}

interface Template {
  readonly tag: Name
  readonly quasi: { readonly quasis: readonly { readonly value: { readonly raw: string } }[] }
}

interface Context {
  readonly report: (fault: { readonly node: object; readonly message: string }) => void
}

const isSql = ({ name, property }: Name): boolean => /^(sql|tx|admin|scoped)$/.test(property?.name ?? name ?? '')

const sql = {
  create: (context: Context) => ({
    TaggedTemplateExpression(node: Template) {
      if (!isSql(node.tag)) return
      const raw = node.quasi.quasis.map(({ value }) => value.raw).join('null')
      for (const message of faultsOfSql(raw)) context.report({ node, message })
    },
  }),
}

export default { meta: { name: 'tenantry' }, rules: { sql } }
