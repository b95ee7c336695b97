import { expect, it, vi } from 'vitest'
import { log } from '#shared/base/log.ts'
import { newApiKey, withoutApiKeys } from '#shared/secret/api-key.ts'

vi.hoisted(() => {
  process.env['POWERTOOLS_LOG_LEVEL'] = 'INFO'
})

it('writes no API key into a line of the log, in whatever text it is, whole or cut off', () => {
  let written = ''
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    written += String(chunk)
    return true
  })
  const key = newApiKey()
  log.info(`failed with ${key}`, { url: `/v1/deals?key=${key}`, nested: { list: [`Bearer ${key}`, key.slice(0, 20)] } })
  spy.mockRestore()
  expect(written).toContain('failed with tnk_REDACTED')
  expect(written).not.toContain(key.slice(4, 12))
})

it('leaves the prefix alone, which is no secret', () => {
  expect(withoutApiKeys('a key begins with tnk_')).toBe('a key begins with tnk_')
})
