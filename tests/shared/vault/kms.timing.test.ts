import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeError } from '#shared/base/log.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import { KeyServiceUnavailable } from '#shared/vault/key-service.ts'
import { keyService, kmsClient } from '#shared/vault/kms.ts'

const CONTEXT = { tenantId: randomUUID(), purpose: 'vendor-credential' }
const ARN = 'arn:aws:kms:us-east-1:000000000000:key/0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'
const PLAINTEXT = randomBytes(32)
const WRAPPED = { kmsKeyArn: ARN, wrapped: randomBytes(100) }
const ANSWER = JSON.stringify({
  KeyId: ARN,
  Plaintext: PLAINTEXT.toString('base64'),
  CiphertextBlob: randomBytes(100).toString('base64'),
})

const listen = async (answer: (call: number, response: ServerResponse) => void) => {
  let calls = 0
  const server = createServer((request, response) => {
    calls += 1
    const call = calls
    request.resume().on('end', () => answer(call, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { calls: () => calls, url: `http://127.0.0.1:${address.port}` }
}

/** Returns a key service before a KMS that responds to the n-th call with `answer`. */
async function before(answer: (call: number, response: ServerResponse) => void) {
  const { calls, url } = await listen(answer)
  const client = kmsClient({
    endpoint: url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
  onTestFinished(() => client.destroy())
  return { calls, keys: keyService(client, ARN) }
}

const good = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).end(ANSWER)
const failed = (response: ServerResponse, type: string, status: number) =>
  response
    .writeHead(status, { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-errortype': type })
    .end(JSON.stringify({ __type: type, message: `said of ${PLAINTEXT.toString('base64')}` }))

const failure = async (work: Promise<unknown>): Promise<{ error: unknown; ms: number }> => {
  const asked = performance.now()
  const error = await work.then(
    () => 'it went well',
    (thrown: unknown) => thrown,
  )
  return { error, ms: performance.now() - asked }
}

describe('transient KMS failures', () => {
  it.each([
    ['ThrottlingException', 400],
    ['KMSInternalException', 500],
    ['DependencyTimeoutException', 503],
    ['KeyUnavailableException', 500],
    ['InternalFailure', 500],
    ['ServiceUnavailable', 503],
  ])('retries after %s', async (type, status) => {
    const { keys, calls } = await before((call, response) =>
      call === 1 ? failed(response, type, status) : good(response),
    )
    expect(await keys.unwrap(WRAPPED, CONTEXT)).toEqual(PLAINTEXT)
    expect(calls()).toBe(2)
  })

  it('retries after a connection reset', async () => {
    const { keys, calls } = await before((call, response) => (call <= 2 ? response.destroy() : good(response)))
    expect((await keys.generate(CONTEXT)).plaintext).toEqual(PLAINTEXT)
    expect(calls()).toBe(3)
  })
})

describe('final KMS failures', () => {
  it.each([
    ['AccessDeniedException', KeyServiceUnavailable],
    ['DisabledException', KeyServiceUnavailable],
    ['NotFoundException', KeyServiceUnavailable],
    ['KMSInvalidStateException', KeyServiceUnavailable],
    ['InvalidGrantTokenException', KeyServiceUnavailable],
    ['InvalidKeyUsageException', KeyServiceUnavailable],
    ['IncorrectKeyException', DecryptionFailed],
    ['InvalidCiphertextException', DecryptionFailed],
  ])('does not retry after %s', async (type, thrown) => {
    const { keys, calls } = await before((_, response) => failed(response, type, 400))
    for (const ask of [
      () => keys.unwrap(WRAPPED, CONTEXT),
      () => keys.rewrap(WRAPPED, CONTEXT, ARN),
      () => keys.generate(CONTEXT),
    ]) {
      const { error, ms } = await failure(ask())
      expect(error).toBeInstanceOf(thrown)
      expect(ms).toBeLessThan(500)
      expect(JSON.stringify(describeError(error))).not.toContain(PLAINTEXT.toString('base64').slice(0, 10))
    }
    expect(calls()).toBe(3)
  })
})

describe('the time limit of two seconds', () => {
  const drip = (response: ServerResponse, text: string) => {
    let at = 0
    const timer = setInterval(() => {
      response.write(text[at % text.length] ?? ' ')
      at += 1
    }, 50)
    response.on('close', () => clearInterval(timer))
  }

  it.each<[string, (call: number, response: ServerResponse) => void]>([
    ['a KMS that does not respond', () => {}],
    ['a KMS that sends an endless response byte by byte', (_, response) => drip(response.writeHead(200), ' ')],
    [
      'a KMS that sends headers without a body',
      (_, response) => response.writeHead(200, { 'content-length': '1000' }).flushHeaders(),
    ],
    ['a KMS that always throttles', (_, response) => failed(response, 'ThrottlingException', 400)],
    ['a KMS that always fails', (_, response) => failed(response, 'KMSInternalException', 500)],
    ['a KMS that closes every connection', (_, response) => void response.destroy()],
    [
      'a KMS that always responds late',
      (_, response) => void setTimeout(() => failed(response, 'KMSInternalException', 500), 550),
    ],
  ])('gives up within two seconds on %s', async (_, answer) => {
    const { keys, calls } = await before(answer)
    const { error, ms } = await failure(keys.unwrap(WRAPPED, CONTEXT))
    expect(error).toBeInstanceOf(KeyServiceUnavailable)
    expect(ms).toBeLessThan(2300)
    expect(calls()).toBeGreaterThanOrEqual(1)
    expect(calls()).toBeLessThanOrEqual(6)
  })

  it('gives up within two seconds on a KMS that refuses connections', async () => {
    const client = kmsClient({
      endpoint: 'http://127.0.0.1:1',
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    const { error, ms } = await failure(keyService(client, ARN).generate(CONTEXT))
    expect(error).toBeInstanceOf(KeyServiceUnavailable)
    expect(ms).toBeLessThan(2300)
  })

  it('leaves time for a retry when the first attempt hangs', async () => {
    const { keys, calls } = await before((call, response) => (call === 1 ? undefined : good(response)))
    expect(await keys.unwrap(WRAPPED, CONTEXT)).toEqual(PLAINTEXT)
    expect(calls()).toBe(2)
  })

  it('reveals nothing of an unreadable or incomplete response from KMS', async () => {
    for (const body of [`{"Plaintext": "${PLAINTEXT.toString('base64')}`, `[${ANSWER}`, '{}', 'null']) {
      const { keys } = await before((_, response) => response.writeHead(200).end(body))
      const { error } = await failure(keys.generate(CONTEXT))
      expect(error).toBeInstanceOf(KeyServiceUnavailable)
      expect(JSON.stringify(describeError(error))).not.toContain(PLAINTEXT.toString('base64').slice(0, 10))
    }
  })
})
