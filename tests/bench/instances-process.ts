import { Writable } from 'node:stream'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { AWS_REGION } from '#infra/local/aws/aws-endpoints.ts'
import { startGateway } from '#infra/local/gateway/gateway.ts'
import { startInstances } from '#infra/local/gateway/instances.ts'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { routeGroups } from '#infra/route-groups.ts'
import { parseConfig } from '#shared/base/config.ts'
import { databaseRole } from '#shared/base/needs.ts'
import { givenOptions, serveAt } from './processes.ts'
import type { ServiceOptions } from './service-process.ts'

const MOST = 8

// The service as the local stack runs it: each function in instances that handle one request at a time.
const { env, access } = givenOptions() as ServiceOptions
const config = parseConfig(env)
const secrets = await startSecretsManager({
  secrets: {
    ...Object.fromEntries(Object.entries(access.logins).map(([role, login]) => [role, JSON.stringify(login)])),
    pepper: JSON.stringify({ pepper: access.tokenSecrets.pepper }),
    'factor-key': JSON.stringify({ factor_key: access.tokenSecrets.mailKey }),
    'mail-key': JSON.stringify({ mail_key: access.tokenSecrets.mailKey }),
    cache: JSON.stringify(access.cache),
  },
})
const instanceEnv = {
  ...env,
  PEPPER_SECRET_ID: 'pepper',
  MAIL_KEY_SECRET_ID: 'mail-key',
  FACTOR_KEY_SECRET_ID: 'factor-key',
  CACHE_SECRET_ID: 'cache',
  // No measured request decrypts a vendor secret.
  VAULT_DATABASE_SECRET_ID: 'vault',
  VAULT_KEY_ID: 'none',
  AWS_REGION,
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
}
const logs = new Writable({ write: (_chunk, _encoding, done) => done() })
// Every instance pipes two streams into it.
logs.setMaxListeners(0)
const integrations = await Promise.all(
  (await routeGroups()).map(async ({ group, handlerFile }) => {
    const functionName = `tenantry-${group.name}`
    const { invoke } = await startInstances<APIGatewayProxyEvent, ProxyResult>({
      handlerFile,
      functionName,
      env: { ...instanceEnv, DATABASE_SECRET_ID: databaseRole(group.needs) ?? '' },
      most: MOST,
      logs,
    })
    return { group, invoke }
  }),
)
const gateway = await startGateway({ port: 0, problemBaseUrl: config.problemBaseUrl, integrations })
serveAt(gateway.url)
