import type { Stage } from '#infra/stages.ts'
import { SETTINGS, settingsIn } from '#shared/base/config.ts'

/** Returns the settings of a stage. Throws for a name that no setting has, and for one that the stack sets. */
export function ownSettings({ settings = {} }: Pick<Stage, 'settings'>, ofStack: readonly string[]) {
  const known = new Set(settingsIn(SETTINGS).map(({ name }) => name))
  for (const name of Object.keys(settings)) {
    if (!known.has(name)) throw new Error(`infra/stages.ts sets ${name}, and shared/base/config.ts has no such setting`)
    if (ofStack.includes(name)) throw new Error(`infra/stages.ts sets ${name}, which comes from the stack`)
  }
  return settings
}
