import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startControl } from '#infra/local/control.ts'
import { createFaults, FaultError } from '#infra/local/faults.ts'

const settled = async (promise: Promise<string>): Promise<string> =>
  Promise.race([promise, new Promise<string>((resolve) => setTimeout(resolve, 50, 'still waiting'))])

describe('faults', () => {
  it('lets every call go without a fault, and counts it', async () => {
    const faults = createFaults()
    expect(await faults.meet('cache')).toBe('go')
    expect(await faults.meet('cache')).toBe('go')
    expect(await faults.meet('kms')).toBe('go')
    expect(faults.counts()).toMatchObject({ cache: 2, kms: 1, ses: 0, instance: 0 })
  })

  it('refuses calls to the part with the fault, and to no other', async () => {
    const faults = createFaults()
    await faults.set({ part: 'kms', mode: 'refuse' })
    expect(await faults.meet('kms')).toBe('refuse')
    expect(await faults.meet('ses')).toBe('go')
    await faults.set({ part: 'kms', mode: 'ok' })
    expect(await faults.meet('kms')).toBe('go')
  })

  it('holds calls while a part hangs, and refuses them when the fault ends', async () => {
    const faults = createFaults()
    await faults.set({ part: 'ses', mode: 'hang' })
    const call = faults.meet('ses')
    expect(await settled(call)).toBe('still waiting')
    await faults.set({ part: 'ses', mode: 'ok' })
    expect(await settled(call)).toBe('refuse')
  })

  it('refuses waiting calls on close', async () => {
    const faults = createFaults()
    await faults.set({ part: 'ses', mode: 'hang' })
    await faults.set({ part: 'kms', mode: 'slow', ms: 600_000 })
    const calls = [faults.meet('ses'), faults.meet('kms')]
    faults.close()
    expect(await Promise.all(calls)).toEqual(['refuse', 'refuse'])
  })

  it('lets a slow call go after its delay', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const faults = createFaults()
    await faults.set({ part: 'vendor', mode: 'slow', ms: 80 })
    let outcome = 'waiting'
    const call = faults.meet('vendor').then((result) => (outcome = result))
    await vi.advanceTimersByTimeAsync(79)
    expect(outcome).toBe('waiting')
    await vi.advanceTimersByTimeAsync(1)
    expect(await call).toBe('go')
  })

  it('affects only the given share of calls', async () => {
    const draws = [0.1, 0.3, 0.6, 0.2]
    const faults = createFaults({ random: () => draws.shift() ?? 1 })
    await faults.set({ part: 'cache', mode: 'refuse', share: 0.25 })
    const calls = [faults.meet('cache'), faults.meet('cache'), faults.meet('cache'), faults.meet('cache')]
    expect(await Promise.all(calls)).toEqual(['refuse', 'go', 'go', 'refuse'])
  })

  it('rejects a fault that does not parse, names its fields and changes nothing', async () => {
    const faults = createFaults()
    await expect(faults.set({ part: 'disk', mode: 'ok' })).rejects.toThrow(FaultError)
    await expect(faults.set({ part: 'kms', mode: 'explode', share: 2 })).rejects.toThrow(/mode: .*share: /)
    expect(faults.current('kms').mode).toBe('ok')
  })
})

describe('the control server', () => {
  it('sets and returns faults, and counts calls', async () => {
    const faults = createFaults()
    const control = await startControl(faults)
    const post = (body: string) => fetch(`${control.url}/faults`, { method: 'POST', body })
    try {
      const set = await post('{"part":"cache","mode":"slow","ms":5}')
      expect([set.status, await set.json()]).toEqual([200, { part: 'cache', mode: 'slow', ms: 5, share: 1 }])
      await faults.meet('cache')
      expect(await (await fetch(`${control.url}/calls`)).json()).toMatchObject({ cache: 1, kms: 0 })
      expect(await (await fetch(`${control.url}/faults`)).json()).toMatchObject({ cache: { mode: 'slow' } })
      expect((await post('{"part":"cache","mode":"?"}')).status).toBe(400)
      expect((await post('{')).status).toBe(400)
      expect((await fetch(`${control.url}/nothing`)).status).toBe(404)
    } finally {
      await control.close()
    }
  })
})
