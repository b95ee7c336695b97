import { routeGroup } from '#shared/http/group.ts'
import { createKey } from './create-key.ts'
import { listKeys } from './list-keys.ts'
import { readCurrentKey } from './read-current-key.ts'
import { readKey } from './read-key.ts'
import { renameKey } from './rename-key.ts'
import { revokeKey } from './revoke-key.ts'
import { revokeSentKey } from './revoke-sent-key.ts'
import { rotateKey } from './rotate-key.ts'

export const group = routeGroup({
  name: 'api-keys',
  bodyLimitBytes: 16 * 1024,
  endpoints: [listKeys, createKey, readCurrentKey, revokeSentKey, readKey, renameKey, rotateKey, revokeKey],
})
