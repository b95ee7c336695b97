import type { Pool } from './runtime-api.ts'
import { type Assembly, type DeclaredFunction, declaredFunctions } from './template.ts'

/** A version of each function, from one release. */
export interface Version {
  readonly release: Assembly
  /** How often each function was invoked in it, by name. */
  readonly invocations: ReadonlyMap<string, number>
}

/** The alias `live` of each function, and the versions behind it. */
export interface Aliases {
  /** The version that gets the invocations, except for the share of another. */
  readonly stable: Version
  /** Makes a version of each function of a release. Nobody invokes it yet. */
  publish(release: Assembly): Version
  /** Gives a version this percentage of the invocations from now on. Those that run end where they began. */
  route(version: Version, percent: number): void
  invoke(name: string, event: object, timeoutMs: number): Promise<unknown>
  close(): Promise<void>
}

/** Publishes a first version and routes everything to it. Earlier versions keep their instances, idle, as Lambda does. */
export function openAliases(first: Assembly, poolOf: (release: Assembly, declared: DeclaredFunction) => Pool): Aliases {
  const versions = new Map<Version, { pools: ReadonlyMap<string, Pool>; invocations: Map<string, number> }>()
  const publish = (release: Assembly): Version => {
    const invocations = new Map<string, number>()
    const functions = [...declaredFunctions(release).values()]
    const version = { release, invocations }
    versions.set(version, {
      invocations,
      pools: new Map(functions.map((declared) => [declared.name, poolOf(release, declared)])),
    })
    return version
  }
  let stable = publish(first)
  let canary: Version | undefined
  let share = 0
  return {
    get stable() {
      return stable
    },
    publish,
    route: (version, percent) => {
      if (percent === 100) stable = version
      canary = percent === 100 ? undefined : version
      share = percent
    },
    invoke: async (name, event, timeoutMs) => {
      const version = canary !== undefined && Math.random() * 100 < share ? canary : stable
      const { pools, invocations } = versions.get(version) ?? {}
      const pool = pools?.get(name)
      if (pool === undefined) throw new Error(`there is no function ${name}`)
      invocations?.set(name, (invocations.get(name) ?? 0) + 1)
      return pool.invoke(event, timeoutMs)
    },
    close: async () => {
      for (const { pools } of versions.values()) await Promise.all([...pools.values()].map((pool) => pool.close()))
    },
  }
}
