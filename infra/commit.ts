import { execFileSync } from 'node:child_process'

/** What a deployment is made from. */
const DEPLOYED = [
  'functions',
  'shared',
  'migrations',
  'infra',
  'packages',
  'cdk.json',
  'package.json',
  'package-lock.json',
]
const FILES = [...DEPLOYED, ':(exclude)*.md']

const HASH_LENGTH = 12

/**
 * Returns the last commit of a folder that changed what is deployed, with `-changed` if files differ from it, or `unknown` without git or a
 * commit. A commit of documents or tests alone is none: it would start new instances of every function.
 */
export function commitOf(folder: string): string {
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', folder, ...words, '--', ...FILES], { encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    const commit = git('log', '-1', '--format=%h', `--abbrev=${HASH_LENGTH}`)
    return commit === '' ? 'unknown' : `${commit}${git('status', '--porcelain') === '' ? '' : '-changed'}`
  } catch {
    return 'unknown'
  }
}
