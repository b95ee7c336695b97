import { readFile } from 'node:fs/promises'
import { assert, constantFrom, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isApiKey, newApiKey } from '#shared/secret/api-key.ts'
import { TOKEN_PATTERN } from '#shared/secret/secret.ts'

describe('an API key', () => {
  it('has its form and its checksum, and is no session token', () => {
    const keys = new Set(Array.from({ length: 200 }, newApiKey))
    expect(keys.size).toBe(200)
    for (const key of keys) {
      expect(key).toMatch(/^tnk_[0-9A-Za-z]{49}$/)
      expect(isApiKey(key)).toBe(true)
      expect(TOKEN_PATTERN.test(key)).toBe(false)
    }
  })

  it('has the checksum that other tools compute: the CRC-32 of the 43 characters, in base62', () => {
    // 2018072207 by zlib.crc32(b'0' * 43) of Python.
    expect(isApiKey(`tnk_${'0'.repeat(43)}2CZclj`)).toBe(true)
    expect(isApiKey(`tnk_${'0'.repeat(43)}2CZclk`)).toBe(false)
  })

  it('is refused with any one character changed, left out or added', () => {
    const key = newApiKey()
    assert(
      property(
        integer({ min: 0, max: key.length - 1 }),
        constantFrom('0', '9', 'A', 'Z', 'a', 'z', '_', '-', '='),
        (at, other) => {
          const changed = key.slice(0, at) + other + key.slice(at + 1)
          expect(isApiKey(changed)).toBe(changed === key)
          expect(isApiKey(key.slice(0, at) + key.slice(at + 1))).toBe(false)
          expect(isApiKey(key.slice(0, at) + other + key.slice(at))).toBe(false)
        },
      ),
    )
  })

  it('is found by the rule for scanners in the README of the client, and a random text of its length is not', async () => {
    const readme = await readFile('shared/client/README.md', 'utf8')
    const [, rule = '', keyword = ''] = /regex = '''(.+)'''\nkeywords = \["(.+)"\]/.exec(readme) ?? []
    const found = (text: string) => text.match(new RegExp(rule, 'g')) ?? []
    const key = newApiKey()
    const planted = [`const KEY = '${key}'`, `TENANTRY_KEY=${key}`, `{"key":"${key}"}`, `Bearer ${key}\n`, `- ${key}.`]
    for (const text of planted) expect(found(text), text).toEqual([key])
    expect(key).toContain(keyword)
    const random = newApiKey().slice(4) + newApiKey().slice(-4)
    expect(random).toMatch(/^[0-9A-Za-z]{53}$/)
    for (const text of [
      random,
      `tnk_${'a'.repeat(48)}`,
      `tnk_${'a'.repeat(50)}`,
      `x${key}`,
      key.replace('tnk_', 'tnk-'),
    ])
      expect(found(`KEY='${text}'`), text).toEqual([])
  })
})
