// Finds code that lets money become a number. It reads types from the compiler, so that a price is found under any name.
import { fileURLToPath } from 'node:url'
import { type CallExpression, type Node, type PrefixUnaryExpression, SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A declaration with such a name holds money. */
const MONEY_NAME = /^(?:.*_)?(?:price|total|amount|cost)$|(?:Price|Total|Amount|Cost)$/
/** A call of one of these makes a number of its arguments. */
const CONVERSION = /^(?:Number|BigInt|parseFloat|parseInt|Number\.parse(?:Float|Int)|Math\.\w+)$/
const OPERATORS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.PlusToken,
  SyntaxKind.MinusToken,
  SyntaxKind.AsteriskToken,
  SyntaxKind.SlashToken,
  SyntaxKind.PercentToken,
  SyntaxKind.AsteriskAsteriskToken,
  // Text compares by its characters: '9' is greater than '10'.
  SyntaxKind.LessThanToken,
  SyntaxKind.LessThanEqualsToken,
  SyntaxKind.GreaterThanToken,
  SyntaxKind.GreaterThanEqualsToken,
])

export interface MoneyFault {
  readonly path: string
  readonly code: string
}

/** A node whose type decides whether `code` is a fault. */
interface Question {
  readonly node: Node
  readonly code: Node
  readonly isFault: (type: string) => boolean
}

/** Text or numbers that are not Money. */
const isPrimitive = (type: string): boolean =>
  /^(?:(?:number|bigint|any|string|null|undefined)(?: \| |$))+$/.test(type) && !/^(?:null|undefined| \| )+$/.test(type)
const isMoney = (type: string): boolean => /\bMoney\b/.test(type)

/** Returns the faults of the project's files in these folders. `planted` is the text of a file that is added to them. */
export function moneyFaults(folders: readonly string[], planted?: { path: string; text: string }): MoneyFault[] {
  const added = planted && { path: ROOT + planted.path, text: planted.text }
  const api = new API({
    cwd: ROOT,
    ...(added && {
      fs: {
        readFile: (path) => (path === added.path ? added.text : undefined),
        fileExists: (path) => (path === added.path ? true : undefined),
      },
    }),
  })
  try {
    const snapshot = api.updateSnapshot({
      openProjects: [`${ROOT}tsconfig.json`],
      ...(added && { openFiles: [added.path] }),
    })
    const project = added ? snapshot.getDefaultProjectForFile(added.path) : snapshot.getProject(`${ROOT}tsconfig.json`)
    if (project === undefined) throw new Error('the compiler found no project')
    const paths = added
      ? [added.path]
      : project.program
          .getSourceFileNames()
          .filter(
            (path) =>
              folders.some((folder) => path.startsWith(`${ROOT}${folder}/`)) && !path.includes('/node_modules/'),
          )
    return paths.flatMap((path) => {
      const file = project.program.getSourceFile(path)
      if (file === undefined) throw new Error(`the compiler did not read ${path}`)
      const questions = questionsOf(file)
      const types = project.checker.getTypeAtLocation(questions.map(({ node }) => node))
      return questions
        .filter(({ isFault }, index) => {
          const type = types[index]
          return type !== undefined && isFault(project.checker.typeToString(type))
        })
        .map(({ code }) => ({ path: path.slice(ROOT.length), code: code.getText(file).replaceAll(/\s+/g, ' ') }))
    })
  } finally {
    api.close()
  }
}

function questionsOf(file: Node): Question[] {
  const questions: Question[] = []
  const visit = (node: any): void => {
    switch (node.kind) {
      case SyntaxKind.PropertySignature:
      case SyntaxKind.PropertyDeclaration:
      case SyntaxKind.VariableDeclaration:
      case SyntaxKind.Parameter:
      case SyntaxKind.BindingElement:
        if (node.name?.kind === SyntaxKind.Identifier && MONEY_NAME.test(node.name.text))
          questions.push({
            node: node.name,
            code: node,
            isFault: isPrimitive,
          })
        break
      case SyntaxKind.CallExpression: {
        const { expression, arguments: sent } = node as CallExpression
        if (CONVERSION.test(expression.getText()))
          for (const each of sent) questions.push({ node: each, code: node, isFault: isMoney })
        // `prices.map(Number)`
        else if (
          sent.some((each) => CONVERSION.test(each.getText())) &&
          expression.kind === SyntaxKind.PropertyAccessExpression
        )
          questions.push({ node: (expression as any).expression, code: node, isFault: isMoney })
        break
      }
      case SyntaxKind.PrefixUnaryExpression:
        if (OPERATORS.has((node as PrefixUnaryExpression).operator))
          questions.push({ node: node.operand, code: node, isFault: isMoney })
        break
      case SyntaxKind.BinaryExpression:
        if (OPERATORS.has(node.operatorToken.kind))
          for (const each of [node.left, node.right]) questions.push({ node: each, code: node, isFault: isMoney })
        break
      case SyntaxKind.AsExpression:
        // Only `as` makes another type of Money.
        questions.push({ node: node.expression, code: node, isFault: isMoney })
        break
    }
    node.forEachChild(visit)
  }
  visit(file)
  return questions
}
