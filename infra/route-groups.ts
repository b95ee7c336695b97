import { readdir } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { RouteGroup } from '#shared/http/group.ts'
import type { Job } from '#shared/job.ts'

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

const FUNCTIONS = fileURLToPath(new URL('../functions/', import.meta.url))

/** Returns the route group of every folder of functions/ that has a group.ts. No other list of routes exists. */
export async function routeGroups(): Promise<DeployedGroup[]> {
  return (await declarations('group')).map(({ declaration, handlerFile }) => ({ group: declaration, handlerFile }))
}

/** Returns the job of every folder of functions/ that has a job.ts. */
export async function jobs(): Promise<DeployedJob[]> {
  return (await declarations('job')).map(({ declaration, handlerFile }) => ({ job: declaration, handlerFile }))
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
