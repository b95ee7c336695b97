import { readdir, readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { GROUP_OF } from '#shared/client/group-of.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import type { Job } from '#shared/job.ts'
import type { Need } from '#shared/needs.ts'
import { frontEnd as declared } from '#web/front-end.ts'
import type { Page } from '#web/page.ts'

/** A route group and the file of its Lambda. */
export interface DeployedGroup {
  readonly group: RouteGroup
  readonly handlerFile: string
}

/** A job and the file of its Lambda. */
export interface DeployedJob {
  readonly job: Job
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

/** Returns the route group of every folder of functions/ that has a group.ts. No other list of routes exists. */
export async function routeGroups(): Promise<DeployedGroup[]> {
  return (await declarations('group')).map(({ declaration, handlerFile }) => ({ group: declaration, handlerFile }))
}

/** Returns the job of every folder of functions/ that has a job.ts. */
export async function jobs(): Promise<DeployedJob[]> {
  return (await declarations('job')).map(({ declaration, handlerFile }) => ({ job: declaration, handlerFile }))
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

interface Declarations {
  readonly group: RouteGroup
  readonly job: Job
}

/** Imports the export KIND of each functions/NAME/KIND.ts. Throws when its name is not the folder's. */
async function declarations<Kind extends keyof Declarations>(
  kind: Kind,
): Promise<{ declaration: Declarations[Kind]; handlerFile: string }[]> {
  const folders = (await readdir(FUNCTIONS)).toSorted().filter((name) => existsSync(`${FUNCTIONS}${name}/${kind}.ts`))
  return Promise.all(
    folders.map(async (folder) => {
      const exported: Partial<Declarations> = await import(`${FUNCTIONS}${folder}/${kind}.ts`)
      const declaration = exported[kind]
      if (declaration?.name !== folder)
        throw new Error(`functions/${folder}/${kind}.ts must export a ${kind} named ${folder}`)
      return { declaration, handlerFile: `${FUNCTIONS}${folder}/handler.ts` }
    }),
  )
}
