import type { Config } from '#shared/base/config.ts'

// An encoded word has at most 75 characters (RFC 2047, section 2): 12 around the base64 of 45 bytes.
const MAX_WORD_BYTES = 45

/** Returns a name as a header takes it: ASCII between quotes (RFC 5322), anything else as encoded words. */
function phrase(name: string): string {
  if (/^[ -~]*$/.test(name)) return `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  const words: string[] = []
  for (const character of name) {
    const longer = `${words.at(-1) ?? ''}${character}`
    if (words.length > 0 && Buffer.byteLength(longer) <= MAX_WORD_BYTES) words[words.length - 1] = longer
    else words.push(character)
  }
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`).join(' ')
}

/** Returns the sender of every email. An address without a name of its own has the name of the platform. */
export const sender = ({ mail: { from }, platform }: Pick<Config, 'mail' | 'platform'>): string =>
  from.includes('<') ? from : `${phrase(platform.name)} <${from}>`

/** Returns who receives the replies to every email: the one address of a `mailto:` of SUPPORT_URL, or nobody. */
export function replyTo({ platform: { supportUrl } }: Pick<Config, 'platform'>): string[] {
  const [, address] = /^mailto:([!-?A-~]+@[A-Za-z0-9.-]+)(?:[?]|$)/.exec(supportUrl) ?? []
  return address === undefined || /[,%<>]/.test(address) ? [] : [address]
}
