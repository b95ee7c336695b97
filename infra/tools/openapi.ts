import { readdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { writeGenerated } from './generated.ts'
import { GATEWAY_RESPONSES } from '#infra/gateway.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/base/config.ts'
import { isOpenToKeys } from '#shared/http/access.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { type Operation, openApiDocument } from '#shared/http/openapi.ts'
import type { Refusal } from '#shared/http/openapi-responses.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A generated file: its path in the repository and its text. */
export interface DerivedFile {
  readonly path: string
  readonly text: string
}

// These concern requests that match no route or are malformed, so no operation documents them.
const {
  MISSING_AUTHENTICATION_TOKEN: _,
  BAD_REQUEST_BODY: __,
  UNSUPPORTED_MEDIA_TYPE: ___,
  ...GATEWAY_ERRORS
} = GATEWAY_RESPONSES

/** Generates the API document, and the client's lists of route groups and of routes with a step-up, from the route groups in functions/api/. */
export async function derivedFiles(): Promise<DerivedFile[]> {
  const groups = await routeGroups()
  const operations: Operation[] = []
  for (const { group } of groups) {
    const names = await endpointNames(group.name)
    for (const endpoint of group.endpoints) {
      const operationId = names.get(endpoint)
      if (operationId === undefined)
        throw new Error(`${endpoint.route} is exported by no file of functions/api/${group.name}`)
      operations.push({ operationId, group: group.name, bodyLimitBytes: group.bodyLimitBytes, endpoint })
    }
  }
  const gateway: Refusal[] = Object.values(GATEWAY_ERRORS)
  const document = openApiDocument(operations, { gateway, config: parseConfig({}) })
  return [
    { path: 'functions/api/openapi/document.json', text: `${JSON.stringify(document, null, 2)}\n` },
    { path: 'shared/client/api.ts', text: apiTypes(groups.map(({ group }) => group)) },
    { path: 'shared/client/group-of.ts', text: groupsByPath(groups.map(({ group }) => group)) },
    { path: 'shared/client/step-up.ts', text: stepUpRoutes(groups.map(({ group }) => group)) },
  ]
}

/** Returns the name under which each endpoint is exported. Leaves out the handler, which opens a runtime when imported. */
async function endpointNames(group: string): Promise<Map<unknown, string>> {
  const files = (await readdir(`${ROOT}functions/api/${group}`)).filter(
    (file) => file.endsWith('.ts') && file !== 'handler.ts',
  )
  const modules: object[] = await Promise.all(files.map((file) => import(`${ROOT}functions/api/${group}/${file}`)))
  return new Map(modules.flatMap((module) => Object.entries(module).map(([name, value]) => [value, name])))
}

function stepUpRoutes(groups: readonly RouteGroup[]): string {
  const stepUps = groups.flatMap(({ endpoints }) =>
    endpoints.flatMap(({ route, stepUp }) =>
      stepUp === null ? [] : [`  '${route}': ${stepUp === true ? stepUp : `'${stepUp}'`},`],
    ),
  )
  return [
    '// Written by `npm run openapi`.',
    "import type { StepUp } from '#shared/identity/step-up.ts'",
    '',
    '/** The routes that need a step-up. */',
    'export const STEP_UP: Readonly<Record<string, StepUp>> = {',
    ...stepUps,
    '}',
    '',
  ].join('\n')
}

function apiTypes(routeGroups: readonly RouteGroup[]): string {
  const groups = routeGroups.map(({ name }) => name)
  const routesWhich = (holds: (endpoint: Endpoint) => boolean) =>
    routeGroups.flatMap(({ endpoints }) => endpoints.filter(holds).map(({ route }) => `  | '${route}'`))
  const local = (group: string) => group.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  return [
    '// Written by `npm run openapi`.',
    ...groups.map((group) => `import type { group as ${local(group)} } from '#functions/api/${group}/group.ts'`),
    '',
    '/** Every endpoint of the service, as types alone. */',
    "export type Api = Groups[keyof Groups]['endpoints'][number]",
    '',
    'interface Groups {',
    ...groups.map((group) => `  readonly ${local(group)}: typeof ${local(group)}`),
    '}',
    '',
    '/** The routes whose responses carry an ETag. */',
    'export type RouteWithEtag =',
    ...routesWhich(({ etag }) => etag),
    '',
    '/** The routes that an API key may call, if it holds the permission. */',
    'export type RouteForKeys =',
    ...routesWhich(isOpenToKeys),
    '',
  ].join('\n')
}

/** Returns the source of the table that names the route group of each path. */
function groupsByPath(groups: readonly RouteGroup[]): string {
  const pairs = groups.flatMap(({ name, endpoints }) => endpoints.map(({ path }) => [path, name] as const))
  return [
    '// Written by `npm run openapi`.',
    '/** The route group that serves each path. */',
    'export const GROUP_OF: Readonly<Record<string, string>> = {',
    ...[...new Map(pairs)].map(([path, name]) => `  '${path}': '${name}',`),
    '}',
    '',
  ].join('\n')
}

if (import.meta.main) {
  // A merge may leave the document broken, and the group that serves it imports it. So replace it before that import.
  const served = `${ROOT}functions/api/openapi/document.json`
  try {
    JSON.parse(await readFile(served, 'utf8'))
  } catch {
    await writeFile(served, '{}\n')
  }
  for (const { path, text } of await derivedFiles()) await writeGenerated(ROOT + path, text, 'npm run openapi')
}
