import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { createFaults } from '#infra/local/faults.ts'

const limiterOf = (redis: Redis, limiter: ConstructorParameters<typeof Ratelimit>[0]['limiter']) =>
  new Ratelimit({ redis, limiter, timeout: 0, ephemeralCache: false })

// The first is a real server if the machine has one, else both are in-process.
describe.for([{}, { force: 'in-process' }] as const)('the local cache %j', (options) => {
  async function started() {
    const faults = createFaults()
    const cache = await startCache({ ...options, faults })
    onTestFinished(() => cache.close())
    const redis = new Redis({ url: cache.url, token: cache.token, retry: { retries: 0 }, enableTelemetry: false })
    return { cache, redis, faults }
  }

  it.for(['slidingWindow', 'fixedWindow', 'tokenBucket'] as const)(
    'allows exactly the limit of 100 concurrent calls: %s',
    async (algorithm) => {
      const { redis } = await started()
      const limiter =
        algorithm === 'tokenBucket' ? Ratelimit.tokenBucket(10, '1 d', 10) : Ratelimit[algorithm](10, '1 d')
      const limit = limiterOf(redis, limiter)
      const replies = await Promise.all(Array.from({ length: 100 }, () => limit.limit('203.0.113.7')))
      expect(replies.filter(({ success }) => success)).toHaveLength(10)
      expect((await limit.limit('203.0.113.8')).success).toBe(true)
    },
  )

  it('allows calls again after resetUsedTokens', async () => {
    const { redis } = await started()
    const limit = limiterOf(redis, Ratelimit.slidingWindow(1, '1 d'))
    expect((await limit.limit('a')).success).toBe(true)
    expect((await limit.limit('a')).success).toBe(false)
    expect((await limit.getRemaining('a')).remaining).toBe(0)
    await limit.resetUsedTokens('a')
    expect((await limit.limit('a')).success).toBe(true)
  })

  it('delays no reply of a pipeline by 40 ms, as TCP does without TCP_NODELAY', async () => {
    const { redis } = await started()
    const times: number[] = []
    for (let call = 0; call < 40; call += 1) {
      const since = performance.now()
      await redis.pipeline().incr('a').incr('b').incr('c').exec()
      times.push(performance.now() - since)
    }
    // TCP acknowledges the first segments of a connection immediately. A busy machine delays some calls, but not all.
    expect(Math.min(...times.slice(20))).toBeLessThan(35)
  })

  it('returns the replies of Upstash to commands, pipelines and transactions', async () => {
    const { redis } = await started()
    expect(await redis.ping()).toBe('PONG')
    expect(await redis.set('k', 'ÆØÅ €')).toBe('OK')
    expect(await redis.get('k')).toBe('ÆØÅ €')
    expect(await redis.get('missing')).toBeNull()
    await redis.set('ok', 'OK')
    expect(await redis.get('ok')).toBe('OK')
    await redis.hset('h', { a: 1, b: { c: [2] } })
    expect(await redis.hgetall('h')).toEqual({ a: 1, b: { c: [2] } })
    const pipeline = await redis.pipeline().incr('n').lpush('n', 'x').get('k').exec({ keepErrors: true })
    expect(pipeline).toMatchObject([
      { result: 1 },
      { error: expect.stringContaining('WRONGTYPE') },
      { result: 'ÆØÅ €' },
    ])
    expect(await redis.multi().incr('n').incr('n').mget('k', 'missing').exec()).toEqual([2, 3, ['ÆØÅ €', null]])
    await expect(redis.eval('return redis.call("nonsense")', [], [])).rejects.toThrow('ERR ')
  })

  it('finds a script by the digest of the text that was sent', async () => {
    const { redis } = await started()
    const script = '#!lua flags=allow-key-locking\nreturn ARGV[1]'
    const digest = await redis.scriptLoad(script)
    expect(await redis.scriptExists(digest)).toEqual([1])
    expect(await redis.evalsha(digest, [], ['yes'])).toBe('yes')
    await expect(redis.evalsha('0'.repeat(40), [], [])).rejects.toThrow('NOSCRIPT')
  })

  it('returns plain text to a client without response encoding', async () => {
    const { cache } = await started()
    const redis = new Redis({ url: cache.url, token: cache.token, responseEncoding: false })
    await redis.set('k', 'plain')
    expect(await redis.get('k')).toBe('plain')
  })

  it('rejects a wrong token with 401', async () => {
    const { cache } = await started()
    for (const authorization of ['', 'Bearer', 'Bearer wrong']) {
      const response = await fetch(cache.url, { method: 'POST', headers: { authorization }, body: '["PING"]' })
      expect([response.status, await response.json()]).toEqual([401, { error: 'Unauthorized' }])
    }
  })

  it('rejects commands that change or block the shared connection', async () => {
    const { redis, cache } = await started()
    const post = (path: string, body: string) =>
      fetch(cache.url + path, { method: 'POST', headers: { authorization: `Bearer ${cache.token}` }, body })
    for (const command of ['["SELECT","1"]', '["multi"]', '["BLPOP","k","0"]', '["SUBSCRIBE","c"]', '[]', '{']) {
      expect((await post('/', command)).status).toBe(400)
    }
    expect((await post('/elsewhere', '["PING"]')).status).toBe(400)
    expect(await redis.ping()).toBe('PONG')
  })

  it('is unreachable while it refuses or is stopped, and recovers', async () => {
    const { cache, redis, faults } = await started()
    const limit = limiterOf(redis, Ratelimit.slidingWindow(5, '1 d'))
    expect((await limit.limit('a')).remaining).toBe(4)
    await faults.set({ part: 'cache', mode: 'refuse' })
    await expect(redis.ping()).rejects.toThrow('fetch failed')
    await faults.set({ part: 'cache', mode: 'ok' })
    await cache.stop()
    await expect(redis.ping()).rejects.toThrow('fetch failed')
    await cache.start()
    expect(await redis.ping()).toBe('PONG')
    expect((await limit.limit('a')).remaining).toBe(4)
  })

  it('holds a call while it hangs, and drops it when the fault ends', async () => {
    const { redis, faults } = await started()
    // So that the call below finds an open connection, and is held within the time that is given to it.
    await redis.ping()
    await faults.set({ part: 'cache', mode: 'hang' })
    const call = redis.ping()
    const first = await Promise.race([call, new Promise((resolve) => setTimeout(resolve, 200, 'still waiting'))])
    expect(first).toBe('still waiting')
    await faults.set({ part: 'cache', mode: 'ok' })
    await expect(call).rejects.toThrow('fetch failed')
    expect(await redis.ping()).toBe('PONG')
  })
})
