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

const FUNCTIONS = fileURLToPath(new URL('../functions/', import.meta.url))

/** Every folder of functions/ that has a group.ts: the one place that knows which routes there are. */
export async function routeGroups(): Promise<DeployedGroup[]> {
  const folders = (await readdir(FUNCTIONS)).toSorted().filter((name) => existsSync(`${FUNCTIONS}${name}/group.ts`))
  return Promise.all(
    folders.map(async (name) => {
      const module: { group: RouteGroup } = await import(`${FUNCTIONS}${name}/group.ts`)
      if (module.group.name !== name) throw new Error(`functions/${name}/group.ts names itself ${module.group.name}`)
      return { group: module.group, handlerFile: `${FUNCTIONS}${name}/handler.ts` }
    }),
  )
}

/** A job and the file of its Lambda. */
export interface DeployedJob {
  readonly job: Job
  readonly handlerFile: string
}

/** Every folder of functions/ that has a job.ts. */
export async function jobs(): Promise<DeployedJob[]> {
  const folders = (await readdir(FUNCTIONS)).toSorted().filter((name) => existsSync(`${FUNCTIONS}${name}/job.ts`))
  return Promise.all(
    folders.map(async (name) => {
      const module: { job: Job } = await import(`${FUNCTIONS}${name}/job.ts`)
      if (module.job.name !== name) throw new Error(`functions/${name}/job.ts names itself ${module.job.name}`)
      return { job: module.job, handlerFile: `${FUNCTIONS}${name}/handler.ts` }
    }),
  )
}
