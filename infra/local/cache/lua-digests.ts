import { createHash } from 'node:crypto'
import type { RedisReply } from './redis.ts'

// Upstash knows this flag. Stock Redis and Valkey refuse a script whose first line names it.
const UPSTASH_FLAGS = /^#!lua flags=allow-key-locking\r?\n/

const digestOf = (script: string): string => createHash('sha1').update(script).digest('hex')

export interface LuaDigests {
  /** Returns the command for the server: scripts without Upstash's flag, and the digests of these scripts. */
  rewrite(command: readonly string[]): readonly string[]
  /** Returns the reply for the client: the digest of a loaded script is that of the script as it was sent. */
  restore(command: readonly string[], reply: RedisReply): RedisReply
}

/** Makes scripts written for Upstash run on Redis and Valkey. Maps the digests that clients use to those of the server. */
export function createLuaDigests(): LuaDigests {
  const changed = new Map<string, string>()

  const strip = (script: string): string => {
    const stripped = script.replace(UPSTASH_FLAGS, '\n')
    if (stripped !== script) changed.set(digestOf(script), digestOf(stripped))
    return stripped
  }
  const known = (digest: string): string => changed.get(digest.toLowerCase()) ?? digest

  return {
    rewrite: (command) => {
      const [name = '', first = '', second = '', ...rest] = command
      switch (name.toUpperCase()) {
        case 'EVAL':
        case 'EVAL_RO':
          return [name, strip(first), ...command.slice(2)]
        case 'EVALSHA':
        case 'EVALSHA_RO':
          return [name, known(first), ...command.slice(2)]
        case 'SCRIPT':
          if (/^load$/i.test(first)) return [name, first, strip(second), ...rest]
          if (/^exists$/i.test(first)) return [name, first, ...command.slice(2).map(known)]
          return command
        default:
          return command
      }
    },
    restore: (command, reply) =>
      /^script load$/i.test(command.slice(0, 2).join(' ')) ? Buffer.from(digestOf(command[2] ?? '')) : reply,
  }
}
