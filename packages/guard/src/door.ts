import type { LambdaClient } from '@aws-sdk/client-lambda'
import { bySdk, bySignature, canSign, DoorFailed } from './invoke-authorize.ts'
import type { AnyPrincipal, PrincipalKind } from './principal.ts'

/** What Tenantry decided. */
export type Decision =
  | { readonly outcome: 'allowed'; readonly principal: AnyPrincipal }
  | { readonly outcome: 'refused'; readonly status: 401 | 403; readonly slug?: string }
  | { readonly outcome: 'refused'; readonly status: 429; readonly headers: Readonly<Record<string, string>> }

export interface Question {
  readonly authorization: readonly string[]
  readonly permission: string | null
  /** Who may call. */
  readonly principals: readonly PrincipalKind[]
  /** The session must have signed in or stepped up in so many seconds. Null requires nothing. */
  readonly step_up_seconds: number | null
  readonly request_id: string
}

/** Asks Tenantry. Throws DoorFailed when no decision comes in time. */
export type Ask = (question: Question) => Promise<Decision>

/** `LambdaClient` of @aws-sdk/client-lambda is one. Its type is not imported, because the package is optional. */
export interface InvokingClient {
  send(command: never, options?: { abortSignal?: AbortSignal }): Promise<unknown>
}

/** Returns `Ask`, by way of an invocation of Tenantry's function `authorize`. */
export function openDoor({
  functionName,
  timeoutMs,
  client,
}: {
  functionName: string
  timeoutMs: number
  client?: InvokingClient | undefined
}): Ask {
  const invoke =
    client === undefined && canSign(process.env)
      ? bySignature(functionName, process.env)
      : bySdk(functionName, client as LambdaClient | undefined)
  return async (question) => {
    const abort = new AbortController()
    // The signal alone does not end a wait of the SDK between two attempts.
    const { promise: expired, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(new DoorFailed(`no decision within ${timeoutMs} ms`))
      abort.abort()
    }, timeoutMs)
    try {
      const { functionError, payload } = await Promise.race([invoke(JSON.stringify(question), abort.signal), expired])
      if (functionError !== null) throw new DoorFailed(`the function failed: ${functionError}`)
      return parse(payload)
    } catch (error) {
      // The message of another error may repeat what was sent.
      throw error instanceof DoorFailed ? error : new DoorFailed(`the invocation failed: ${nameOf(error)}`)
    } finally {
      clearTimeout(timer)
    }
  }
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if (error.name === 'InvocationRefused') return error.message
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

function parse(payload: string): Decision {
  const decision: Decision | null = JSON.parse(payload)
  if (decision?.outcome === 'allowed' && typeof decision.principal?.tenant?.id === 'string')
    return { outcome: 'allowed', principal: decision.principal }
  if (decision?.outcome === 'refused' && (decision.status === 401 || decision.status === 403))
    return {
      outcome: 'refused',
      status: decision.status,
      ...(decision.slug === undefined ? {} : { slug: decision.slug }),
    }
  if (decision?.outcome === 'refused' && decision.status === 429)
    return { outcome: 'refused', status: 429, headers: { ...decision.headers } }
  throw new DoorFailed('the response is no decision')
}
