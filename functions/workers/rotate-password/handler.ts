import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { parseConfig } from '#shared/base/config.ts'
import { rotatePassword } from './rotate-password.ts'

const { database } = parseConfig(process.env)
const client = new SecretsManagerClient({ maxAttempts: 3 })

export const handler = (event: unknown): Promise<void> => rotatePassword(event, { security: database, client })
