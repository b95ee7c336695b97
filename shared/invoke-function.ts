import { InvokeCommand, type InvokeCommandInput, type InvokeCommandOutput, LambdaClient } from '@aws-sdk/client-lambda'
import { LIVE_ALIAS } from '#shared/live-alias.ts'

// A retry by the SDK would repeat a write that may have taken effect.
const lambda = new LambdaClient({ maxAttempts: 1 })

/**
 * Invokes the live version of the function with this name, to which it adds the prefix of the stage. A file of its own, which
 * brings the AWS SDK: import it when it is first needed.
 */
export const invokeFunction = (
  name: string,
  input: Omit<InvokeCommandInput, 'FunctionName' | 'Qualifier'>,
  abortSignal: AbortSignal,
): Promise<InvokeCommandOutput> => {
  const FunctionName = `${process.env['FUNCTION_PREFIX'] ?? ''}${name}`
  return lambda.send(new InvokeCommand({ ...input, FunctionName, Qualifier: LIVE_ALIAS }), { abortSignal })
}
