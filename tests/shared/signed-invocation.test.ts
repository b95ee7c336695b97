import { LambdaClient } from '@aws-sdk/client-lambda'
import { expect, it } from 'vitest'
import { lambdaEndpoint } from '#shared/base/signed-invocation.ts'

it.each([
  'us-east-1',
  'eu-central-1',
  'il-central-1',
  'us-gov-west-1',
  'cn-north-1',
  'eusc-de-east-1',
  'us-iso-east-1',
  'us-isob-east-1',
  'us-isof-south-1',
  'eu-isoe-west-1',
])('finds Lambda in %s where the SDK finds it', (region) => {
  const { url } = new LambdaClient({}).config.endpointProvider({ Region: region, UseFIPS: false, UseDualStack: false })
  expect(lambdaEndpoint({ AWS_REGION: region }).href).toBe(url.href)
})

it('prefers the endpoint of Lambda that the environment names, then that of all services', () => {
  const env = { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL: 'http://all', AWS_ENDPOINT_URL_LAMBDA: 'http://lambda/base' }
  expect(lambdaEndpoint(env).href).toBe('http://lambda/base')
  expect(lambdaEndpoint({ ...env, AWS_ENDPOINT_URL_LAMBDA: '' }).href).toBe('http://all/')
})
