import { readdirSync, readFileSync } from 'node:fs'

/** Returns the ids of a process and all its living descendants, from /proc. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const [, parent] = / \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
      children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)])
    } catch {
      // The process exited since the folder was listed.
    }
  }
  const tree = [pid]
  for (const member of tree) tree.push(...(children.get(member) ?? []))
  return tree
}
