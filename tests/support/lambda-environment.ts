import { vi } from 'vitest'

/** Gives the environment what Lambda gives an instance, with this endpoint of Lambda. It lasts until the file ends. */
export function stubLambdaEnvironment(url: string): void {
  vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', url)
  vi.stubEnv('AWS_REGION', 'us-east-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
}
