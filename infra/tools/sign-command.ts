import type { LambdaClient } from '@aws-sdk/client-lambda'
import { SignatureV4 } from '@smithy/signature-v4'
import { COMMAND_HEADER, commandDigest } from '#functions/workers/operate/caller.ts'

const EXPIRES_SECONDS = 60

/**
 * Returns the proof of who gives a command: the signed query string of STS GetCallerIdentity. The function sends it to STS,
 * which names the principal. `client` has the credentials and the region.
 */
export async function signCommand(
  { config }: Pick<LambdaClient, 'config'>,
  { functionName, command }: { functionName: string; command: object },
): Promise<string> {
  const { credentials, region, sha256 } = config
  const hostname = `sts.${await region()}.amazonaws.com`
  const signer = new SignatureV4({ service: 'sts', credentials, region, sha256 })
  const signed = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      headers: { host: hostname, [COMMAND_HEADER]: commandDigest(functionName, command) },
      query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
    },
    { expiresIn: EXPIRES_SECONDS },
  )
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(signed.query ?? {})) query.set(name, String(value))
  return query.toString()
}
