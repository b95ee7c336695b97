import { setTimeout } from 'node:timers/promises'
import type { LambdaClient } from '@aws-sdk/client-lambda'
import { InvocationRefused, signedInvoke } from '../../../shared/base/signed-invocation.ts'

/** No decision came. Its message contains nothing of the question. */
export class DoorFailed extends Error {
  override readonly name = 'DoorFailed'
}

/** Invokes `authorize`, a second time when the first fails for a reason that may be gone. */
export type InvokeAuthorize = (
  payload: string,
  abortSignal: AbortSignal,
) => Promise<{ readonly functionError: string | null; readonly payload: string }>

// Lambda refuses a burst for less time than that.
const RETRY_WITHIN_MS = 100

/** Returns `InvokeAuthorize` without the SDK, which takes three times the processor time. */
export function bySignature(functionName: string, env: NodeJS.ProcessEnv): InvokeAuthorize {
  const invoke = signedInvoke(env)
  return async (payload, abortSignal) => {
    const attempt = () =>
      invoke({ functionName, type: 'RequestResponse', payload, traceId: currentTraceId() }, abortSignal)
    try {
      return await attempt()
    } catch (error) {
      if (abortSignal.aborted) throw error
      if (error instanceof InvocationRefused) {
        if (error.status < 500 && error.status !== 429) throw error
        await setTimeout(Math.random() * RETRY_WITHIN_MS, undefined, { signal: abortSignal })
      }
      return attempt()
    }
  }
}

/** Returns `InvokeAuthorize` with a client of the SDK: the given one, or one with the SDK's defaults. */
export function bySdk(functionName: string, given?: LambdaClient): InvokeAuthorize {
  const loading = import('@aws-sdk/client-lambda').catch(() => {
    throw new DoorFailed('without credentials in the environment the guard needs @aws-sdk/client-lambda: install it')
  })
  // It starts before the first request, which reports its failure.
  const opened = loading.then(({ InvokeCommand, LambdaClient }) => ({
    InvokeCommand,
    client: given ?? new LambdaClient({ maxAttempts: 2 }),
  }))
  opened.catch(() => {})
  return async (payload, abortSignal) => {
    const { client, InvokeCommand } = await opened
    const command = new InvokeCommand({ FunctionName: functionName, Payload: payload })
    const { FunctionError = null, Payload } = await client.send(command, { abortSignal })
    return { functionError: FunctionError, payload: Payload?.transformToString() ?? '' }
  }
}

const REQUIRED = ['AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']
// They change the credentials or the endpoint in a way that only the SDK knows.
const FOR_THE_SDK = [
  'AWS_PROFILE',
  'AWS_USE_FIPS_ENDPOINT',
  'AWS_USE_DUALSTACK_ENDPOINT',
  'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS',
]

/** Returns whether the environment has all that a signature needs, as in a Lambda. */
export const canSign = (env: NodeJS.ProcessEnv): boolean =>
  REQUIRED.every((name) => (env[name] ?? '') !== '') &&
  FOR_THE_SDK.every((name) => ['', 'false'].includes(env[name] ?? ''))

/** What Lambda's runtime knows of the request, also where one instance serves several requests at the same time. */
interface LambdaRuntime {
  readonly awslambda?: { readonly InvokeStore?: { getXRayTraceId?(): string | undefined } }
}

/** Returns the trace of the request that the service handles, as the SDK's client finds it. */
const currentTraceId = (): string | undefined =>
  (globalThis as LambdaRuntime).awslambda?.InvokeStore?.getXRayTraceId?.() ?? process.env['_X_AMZN_TRACE_ID']
