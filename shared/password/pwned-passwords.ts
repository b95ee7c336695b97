import { createHash } from 'node:crypto'
import { describeError, log } from '#shared/base/log.ts'

const TIMEOUT_MS = 1000

/**
 * Returns whether a password is in a public breach. The range API of Have I Been Pwned receives only the first five
 * characters of its SHA-1 (https://haveibeenpwned.com/API/v3#PwnedPasswords). Returns false if `url` is '' or the API
 * fails or takes longer than a second: an outage of the API must not stop users from changing passwords.
 */
export async function isPwned(password: string, url: string): Promise<boolean> {
  if (url === '') return false
  const digest = createHash('sha1').update(password).digest('hex').toUpperCase()
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/range/${digest.slice(0, 5)}`, {
      headers: { 'add-padding': 'true' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const lines = (await response.text()).split(/\r?\n/)
    return lines.some((line) => line.startsWith(`${digest.slice(5)}:`) && !line.endsWith(':0'))
  } catch (error) {
    log.warn('could not check a new password for breaches; accepting it without the check', {
      error: describeError(error),
    })
    return false
  }
}
