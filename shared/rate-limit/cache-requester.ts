import http from 'node:http'
import https from 'node:https'
import { urlToHttpOptions } from 'node:url'
import type { Requester } from '@upstash/redis'

/** The REST API of the cache. */
export interface CacheAccess {
  readonly url: string
  readonly token: string
}

// Lambda freezes an instance between requests, and a network may forget an idle connection without a message to either end.
const REUSED_WITHIN_MS = 4000
const SHOWN_LENGTH = 200

/**
 * Returns what sends the requests of @upstash/redis (https://upstash.com/docs/redis/features/restapi), by Node.js: the fetch of the
 * library takes several times the processor time, and has to be loaded first (infra/history.md, 100). Rejects when the cache fails, or does not
 * respond within `timeoutMs`. The library expects a list of responses when it sent a list of commands, and does not look for an error in its
 * place.
 */
export function cacheRequester({ url, token }: CacheAccess, timeoutMs: number): Requester {
  const { protocol, hostname, port, path: base } = urlToHttpOptions(new URL(url))
  const { Agent, request: send } = protocol === 'http:' ? http : https
  const agent = new Agent({ keepAlive: true })
  let usedAt = 0
  return {
    request: async ({ path = [], body }) => {
      if (Date.now() - usedAt > REUSED_WITHIN_MS) agent.destroy()
      usedAt = Date.now()
      const text = JSON.stringify(body)
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      }
      const target = [(base ?? '').replace(/\/$/, ''), ...path].join('/')
      const request = send({ method: 'POST', hostname, port, path: target, headers, agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const received = Buffer.concat(chunks).toString()
          if (response.statusCode === 200) return resolve(received)
          reject(new Error(`the cache responded with ${response.statusCode}: ${received.slice(0, SHOWN_LENGTH)}`))
        })
      })
      request.on('error', reject)
      request.end(text)
      const timer = setTimeout(() => {
        // Node.js reports no error of a request whose connection was upgraded.
        reject(new Error('the cache did not respond in time'))
        request.destroy()
      }, timeoutMs)
      try {
        return JSON.parse(await promise)
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
