import { once } from '#shared/base/once.ts'
import { storeWithRetry } from '#shared/vault/store-with-retry.ts'

/**
 * Encrypts a secret, checks it with the vendor and stores it. Encryption comes first, so that the vendor receives nothing
 * while KMS fails. A retry encrypts and stores again, but never checks twice. `store` resolves to null if the row changed.
 */
export function storeSecret<Encrypted, Checked, Stored>(steps: {
  encrypt: () => Promise<Encrypted>
  check: () => Promise<Checked>
  store: (encrypted: Encrypted, checked: Checked) => Promise<Stored | null>
}): Promise<Stored> {
  const checkOnce = once(steps.check)
  return storeWithRetry(async () => {
    const encrypted = await steps.encrypt()
    return steps.store(encrypted, await checkOnce())
  })
}
