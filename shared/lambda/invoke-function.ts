import { LIVE_ALIAS } from '#shared/base/live-alias.ts'
import { type Invocation, type Invoke, type Invoked, signedInvoke } from '#shared/base/signed-invocation.ts'

let invoke: Invoke | undefined

/**
 * Invokes the live version of the function with this name, to which it adds the prefix of the stage. Never sends it twice: a
 * retry would repeat a write that may have taken effect. Throws when Lambda does not respond or refuses. A file of its own:
 * import it when it is first needed.
 */
export function invokeFunction(
  name: string,
  invocation: Pick<Invocation, 'type' | 'payload'>,
  abortSignal: AbortSignal,
): Promise<Invoked> {
  invoke ??= signedInvoke(process.env)
  const functionName = `${process.env['FUNCTION_PREFIX'] ?? ''}${name}:${LIVE_ALIAS}`
  return invoke({ ...invocation, functionName }, abortSignal)
}
