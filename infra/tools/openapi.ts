import { readdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { GATEWAY_RESPONSES } from '#infra/gateway.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/config.ts'
import { type Operation, openApiDocument } from '#shared/http/openapi.ts'
import type { Refusal } from '#shared/http/openapi-responses.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A file that is derived from the route groups: where it is kept, and what is in it. */
export interface DerivedFile {
  readonly path: string
  readonly text: string
}

// What the gateway makes of a request that matched no route, or none that is well-formed, is no answer of an operation.
const {
  MISSING_AUTHENTICATION_TOKEN: _,
  BAD_REQUEST_BODY: __,
  UNSUPPORTED_MEDIA_TYPE: ___,
  ...OF_ANY_ROUTE
} = GATEWAY_RESPONSES

/** The API document and the client's list of routes, as the route groups in functions/ are now. */
export async function derivedFiles(): Promise<DerivedFile[]> {
  const groups = await routeGroups()
  const operations: Operation[] = []
  for (const { group } of groups) {
    const names = await endpointNames(group.name)
    for (const endpoint of group.endpoints) {
      const operationId = names.get(endpoint)
      if (operationId === undefined)
        throw new Error(`${endpoint.route} is exported by no file of functions/${group.name}`)
      operations.push({ operationId, group: group.name, bodyLimitBytes: group.bodyLimitBytes, endpoint })
    }
  }
  const gateway: Refusal[] = Object.values(OF_ANY_ROUTE)
  const document = openApiDocument(operations, { gateway, config: parseConfig({}) })
  return [
    { path: 'functions/openapi/document.json', text: `${JSON.stringify(document, null, 2)}\n` },
    { path: 'shared/client/api.ts', text: apiTypes(groups.map(({ group }) => group.name)) },
  ]
}

/** An endpoint's name is that of its export. The handler is left out: it opens a process's runtime. */
async function endpointNames(group: string): Promise<Map<unknown, string>> {
  const files = (await readdir(`${ROOT}functions/${group}`)).filter(
    (file) => file.endsWith('.ts') && file !== 'handler.ts',
  )
  const modules: object[] = await Promise.all(files.map((file) => import(`${ROOT}functions/${group}/${file}`)))
  return new Map(modules.flatMap((module) => Object.entries(module).map(([name, value]) => [value, name])))
}

function apiTypes(groups: readonly string[]): string {
  const local = (group: string) => group.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  return [
    '// Written by `npm run openapi`.',
    ...groups.map((group) => `import type { group as ${local(group)} } from '#functions/${group}/group.ts'`),
    '',
    '/** Every endpoint of the service, as types alone. */',
    "export type Api = Groups[keyof Groups]['endpoints'][number]",
    '',
    'interface Groups {',
    ...groups.map((group) => `  readonly ${local(group)}: typeof ${local(group)}`),
    '}',
    '',
  ].join('\n')
}

if (import.meta.main) {
  // A document that a merge left broken must not keep the function that serves it from being read.
  const served = `${ROOT}functions/openapi/document.json`
  try {
    JSON.parse(await readFile(served, 'utf8'))
  } catch {
    await writeFile(served, '{}\n')
  }
  for (const { path, text } of await derivedFiles()) await writeFile(ROOT + path, text)
}
