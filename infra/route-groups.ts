import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { GROUP_OF } from '#shared/client/group-of.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import type { Worker } from '#shared/lambda/worker.ts'
import type { Need } from '#shared/base/needs.ts'
import { frontEnd as declared } from '#web/front-end.ts'
import type { Page } from '#web/http/page.ts'

/** A route group and the file of its Lambda. */
export interface DeployedGroup {
  readonly group: RouteGroup
  readonly handlerFile: string
}

/** A worker and the file of its Lambda. */
export interface DeployedWorker {
  readonly worker: Worker
  readonly handlerFile: string
}

/** The front end, the file of its Lambda, and the route groups that it calls. */
export interface DeployedFrontEnd {
  readonly name: string
  readonly needs: readonly Need[]
  readonly pages: readonly Page[]
  readonly calls: readonly string[]
  readonly handlerFile: string
}

const FUNCTIONS = fileURLToPath(new URL('../functions/', import.meta.url))

/** Returns the route group of every folder of functions/api/. No other list of routes exists. */
export async function routeGroups(): Promise<DeployedGroup[]> {
  return (await declarations('group')).map(({ declaration, handlerFile }) => ({ group: declaration, handlerFile }))
}

/** Returns the worker of every folder of functions/workers/. */
export async function workers(): Promise<DeployedWorker[]> {
  return (await declarations('worker')).map(({ declaration, handlerFile }) => ({ worker: declaration, handlerFile }))
}

/** Returns the front end of functions/web. */
export async function frontEnd(): Promise<DeployedFrontEnd> {
  const folder = `${FUNCTIONS}${declared.name}`
  return { ...declared, calls: await groupsCalledIn(folder), handlerFile: `${folder}/handler.ts` }
}

/** Returns the paths of the front end's API: those of its pages, and all others, for which it has a page too. */
export const pagePaths = (pages: readonly Page[]): string[] => [
  ...new Set([...pages.map(({ path }) => path), '/{proxy+}']),
]

/** Returns the route groups whose routes the sources of a folder name. A call without the name of a route does not compile. */
async function groupsCalledIn(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const sources = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')))
  const called = sources.flatMap((source) =>
    Array.from(source.matchAll(/'[A-Z]+ (\/v1\/[^']*)'/g), ([, path = '']) => GROUP_OF[path] ?? []).flat(),
  )
  return [...new Set(called)].toSorted()
}

/** The folder of each kind of declaration. */
const FOLDERS = { group: 'api', worker: 'workers' } as const

interface Declarations {
  readonly group: RouteGroup
  readonly worker: Worker
}

/** Imports the export KIND of each functions/{api,workers}/NAME/KIND.ts. Throws when its name is not the folder's. */
async function declarations<Kind extends keyof Declarations>(
  kind: Kind,
): Promise<{ declaration: Declarations[Kind]; handlerFile: string }[]> {
  const folder = `${FUNCTIONS}${FOLDERS[kind]}/`
  const names = (await readdir(folder)).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const exported: Partial<Declarations> = await import(`${folder}${name}/${kind}.ts`)
      const declaration = exported[kind]
      if (declaration?.name !== name)
        throw new Error(`functions/${FOLDERS[kind]}/${name}/${kind}.ts must export a ${kind} named ${name}`)
      return { declaration, handlerFile: `${folder}${name}/handler.ts` }
    }),
  )
}
