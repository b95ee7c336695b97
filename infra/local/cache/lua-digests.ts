import { createHash } from 'node:crypto'
import { RedisError, type RedisReply } from './resp.ts'

// Upstash knows this flag; the first line that names it makes stock Redis and Valkey refuse the script.
const UPSTASH_FLAGS = /^#!lua flags=allow-key-locking\r?\n/

const digestOf = (script: string): string => createHash('sha1').update(script).digest('hex')

export interface LuaDigests {
  /** The command as the server may have it: scripts without Upstash's flag, digests of the scripts so changed. */
  rewrite(command: readonly string[]): readonly string[]
  /** The reply as the client expects it: a script that it loads has the digest that it knows. */
  restore(command: readonly string[], reply: RedisReply): RedisReply
}

/** Lets scripts written for Upstash run elsewhere: a client that goes by a script's digest finds the changed script. */
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
    restore: (command, reply) => {
      const loads = /^script load$/i.test(command.slice(0, 2).join(' '))
      return loads && !(reply instanceof RedisError) ? Buffer.from(digestOf(command[2] ?? '')) : reply
    },
  }
}
