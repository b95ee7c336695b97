import type { Send } from '#shared/client/client.ts'
import { type Browser, invokeGroups } from '#shared/client/invoke-groups.ts'
import { type Config, ConfigError, parseConfig } from '#shared/base/config.ts'
import { once } from '#shared/base/once.ts'
import { readSecret } from '#shared/secret/secrets-manager.ts'
import { type WebKey, WebKeySecret } from '#shared/secret/token-secrets.ts'

/** What the front end owns: no database and no pepper. */
export interface WebRuntime extends WebKey {
  /** Returns what sends requests to the API in the name of a browser. */
  readonly sendFor: (browser: Browser) => Send
}

/** The settings, which are parsed at the start, and the runtime, which is opened at the first request. */
export interface WebSource {
  readonly config: Config
  readonly open: () => Promise<WebRuntime>
}

/** The front end of this process. Throws ConfigError when a setting does not parse or is missing. */
export function openWeb(): WebSource {
  const config = parseConfig(process.env)
  const { webKey: secretId } = config.secretIds
  if (secretId === '') throw new ConfigError('Settings that are required here: WEB_KEY_SECRET_ID')
  return {
    config,
    open: once(async () => ({ ...(await readSecret(secretId, WebKeySecret)), sendFor: invokeGroups })),
  }
}
