import { createHash } from 'node:crypto'
import { keyedHash } from '#shared/secret/secret.ts'
import { PEPPER } from './settings.ts'

/** Returns the hashes of this machine's addresses as the audit log of a tenant holds them. Each tenant has its own. */
export const ipHashesIn = (tenantId: string): string[] =>
  ['127.0.0.1', '::1', '::ffff:127.0.0.1'].map((ip) =>
    createHash('sha256')
      .update(keyedHash(PEPPER, 'ip', ip))
      .update(Buffer.from(tenantId.replaceAll('-', ''), 'hex'))
      .digest('hex'),
  )
