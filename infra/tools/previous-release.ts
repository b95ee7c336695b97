import { execFileSync } from 'node:child_process'

/** The release that serves while the next one migrates. */
export interface PreviousRelease {
  /** Its tag. */
  readonly name: string
  /** Whether it has a migration already. */
  readonly has: (migration: string) => boolean
  /** Returns the files of its code that contain all of these words. */
  readonly filesWith: (words: readonly string[]) => string[]
}

/**
 * Returns the release of the newest tag `vN.N.N` before the state of a folder, or null without git or such a tag. A tag at the state
 * itself counts: what changed since is the next release.
 */
export function previousRelease(folder: string): PreviousRelease | null {
  const git = (...words: string[]): string | null => {
    try {
      return execFileSync('git', ['-C', folder, ...words], { encoding: 'utf8', stdio: 'pipe' })
    } catch {
      // Also when `git grep` finds nothing.
      return null
    }
  }
  const lines = (text: string | null): string[] => (text ?? '').split('\n').filter((line) => line !== '')
  const [name] = lines(git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*.[0-9]*.[0-9]*'))
  if (name === undefined) return null
  const migrations = new Set(lines(git('ls-tree', '--name-only', `${name}:migrations`)))
  return {
    name,
    has: (migration) => migrations.has(migration),
    filesWith: (words) => {
      const patterns = words.flatMap((word) => ['-e', word])
      const found = git(
        'grep',
        '-l',
        '-w',
        '-F',
        '--all-match',
        ...patterns,
        name,
        '--',
        'functions/*.ts',
        'shared/*.ts',
      )
      return lines(found).map((line) => line.slice(name.length + 1))
    },
  }
}
