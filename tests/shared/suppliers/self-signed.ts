import { generateKeyPairSync, sign } from 'node:crypto'

const der = (tag: number, ...content: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(content)
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...content: readonly Buffer[]) => der(0x30, ...content)
const integer = (value: number) => der(0x02, Buffer.from([value]))
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const utcTime = (at: Date) => der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`))

/** Creates a self-signed certificate for `localhost`, valid for a day, and its key, both as PEM. */
export function selfSigned(): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('localhost')))))
  const alternativeNames = der(0x04, sequence(der(0x82, Buffer.from('localhost'))))
  const now = Date.now()
  const content = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    name,
    sequence(utcTime(new Date(now - 43_200_000)), utcTime(new Date(now + 43_200_000))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid('551d11'), alternativeNames))),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', content, privateKey))
  const certificate = sequence(content, ecdsaWithSha256, signature)
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
