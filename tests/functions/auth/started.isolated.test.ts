import { afterAll, expect, it, vi } from 'vitest'

vi.hoisted(() => {
  process.env['POWERTOOLS_LOG_LEVEL'] = 'INFO'
  for (const name of ['DATABASE', 'PEPPER', 'MAIL_KEY', 'FACTOR_KEY', 'CACHE'])
    process.env[`${name}_SECRET_ID`] = `of-the-test-${name}`
})
afterAll(() => vi.restoreAllMocks())

it('an instance that hashes passwords logs once at its start what computes the hashes', async () => {
  let written = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    written += String(chunk)
    return true
  })
  await import('#functions/api/auth/handler.ts')
  const lines = written.split('\n').filter((line) => line.includes('an instance started'))
  expect(lines.map((line) => JSON.parse(line).argon2)).toEqual(['openssl'])
})
