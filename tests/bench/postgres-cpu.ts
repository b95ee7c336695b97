import { readdir, readFile } from 'node:fs/promises'

// The kernel counts processor time for /proc in this unit.
const TICK_MICROS = 10_000

/** Returns the processor time of a postmaster and its processes so far, in microseconds, or NaN on a system without /proc. */
export async function postgresCpuMicros(pid: number): Promise<number> {
  const ids = await readdir('/proc').catch(() => [])
  const used = await Promise.all(
    ids
      .filter((id) => /^\d+$/.test(id))
      .map(async (id) => {
        const text = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')
        // The name before it may contain spaces.
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
        const [parent, user, system, endedUser, endedSystem] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]))
        if (Number(id) === pid) return (user ?? 0) + (system ?? 0) + (endedUser ?? 0) + (endedSystem ?? 0)
        return parent === pid ? (user ?? 0) + (system ?? 0) : null
      }),
  )
  const ticks = used.filter((each) => each !== null)
  return ticks.length === 0 ? Number.NaN : ticks.reduce((sum, each) => sum + each, 0) * TICK_MICROS
}
