import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import type { Principal } from './principal.ts'

/** What Tenantry decided. */
export type Decision =
  | { readonly outcome: 'allowed'; readonly principal: Principal }
  | { readonly outcome: 'refused'; readonly status: 401 | 403; readonly slug?: string }

export interface Question {
  readonly authorization: readonly string[]
  readonly permission: string | null
  readonly request_id: string
}

/** No decision came. Its message contains nothing of the question. */
export class DoorFailed extends Error {
  override readonly name = 'DoorFailed'
}

/** Asks Tenantry. Throws DoorFailed when no decision comes in time. */
export type Ask = (question: Question) => Promise<Decision>

/** Returns `Ask`, by way of an invocation of Tenantry's function `authorize`. */
export function openDoor({
  functionName,
  timeoutMs,
  client = new LambdaClient({ maxAttempts: 2 }),
}: {
  functionName: string
  timeoutMs: number
  client?: LambdaClient | undefined
}): Ask {
  return async (question) => {
    const abort = new AbortController()
    // The signal alone does not end a wait of the SDK between two attempts.
    const { promise: expired, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(new DoorFailed(`no decision within ${timeoutMs} ms`))
      abort.abort()
    }, timeoutMs)
    try {
      const command = new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(question) })
      const sent = client.send(command, { abortSignal: abort.signal })
      const { FunctionError, Payload } = await Promise.race([sent, expired])
      if (FunctionError !== undefined) throw new DoorFailed(`the function failed: ${FunctionError}`)
      return parse(Payload?.transformToString() ?? '')
    } catch (error) {
      // An error of the SDK may repeat what was sent.
      throw error instanceof DoorFailed ? error : new DoorFailed(`the invocation failed: ${nameOf(error)}`)
    } finally {
      clearTimeout(timer)
    }
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

function parse(payload: string): Decision {
  const decision: Partial<Decision> | null = JSON.parse(payload)
  if (decision?.outcome === 'allowed' && typeof decision.principal?.tenant?.id === 'string')
    return { outcome: 'allowed', principal: decision.principal }
  if (decision?.outcome === 'refused' && (decision.status === 401 || decision.status === 403))
    return {
      outcome: 'refused',
      status: decision.status,
      ...(decision.slug === undefined ? {} : { slug: decision.slug }),
    }
  throw new DoorFailed('the response is no decision')
}
