import { LambdaClient } from '@aws-sdk/client-lambda'
import { AWS_REGION } from '#infra/local/aws/aws-endpoints.ts'
import { LOCAL_CALLER, LOCAL_CREDENTIALS } from '#infra/local/aws/sts.ts'
import { signCommand } from '#infra/tools/sign-command.ts'

/** An operator's instruction that has been checked. */
export const INSTRUCTION = { operator: LOCAL_CALLER, reason: 'a test', requestId: 'request-of-a-test' }

const client = new LambdaClient({ region: AWS_REGION, credentials: LOCAL_CREDENTIALS })

/** Returns the event of a command, as `npm run operate` sends it to the function of this name. */
export async function signedCommand(functionName: string, command: object): Promise<object> {
  const sent = { ...command, reason: INSTRUCTION.reason }
  return { ...sent, caller: await signCommand(client, { functionName, command: sent }) }
}
