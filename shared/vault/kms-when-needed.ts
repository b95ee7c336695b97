import { once } from '#shared/base/once.ts'
import type { KeyService } from '#shared/vault/key-service.ts'

/** Returns a key service that loads the AWS SDK at its first request. */
export function kmsWhenNeeded(keyId: string): KeyService {
  const opened = once(async () => {
    const { keyService, kmsClient } = await import('#shared/vault/kms.ts')
    return keyService(kmsClient(), keyId)
  })
  return {
    generate: async (context) => (await opened()).generate(context),
    unwrap: async (key, context) => (await opened()).unwrap(key, context),
    rewrap: async (key, context, toKeyId) => (await opened()).rewrap(key, context, toKeyId),
  }
}
