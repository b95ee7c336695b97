/** Returns the forms in which a text could be stored or logged, by name. */
export function encodings(secret: string): Record<string, string> {
  const text = Buffer.from(secret)
  // Only whole groups of three bytes: the last group depends on what follows.
  const groups = Math.floor(text.length / 3) * 4
  return {
    'as it is': secret,
    'without its ends': secret.slice(2, -2),
    'in hex of the text': text.toString('hex'),
    'in base64 of the text': text.toString('base64').slice(0, groups),
    'in base64url of the text': text.toString('base64url').slice(0, groups),
    'for a URL': encodeURIComponent(secret),
    backwards: secret.split('').toReversed().join(''),
  }
}

/** Returns the same for a token of 43 characters, and the forms of the 32 bytes that it encodes. */
export function tokenEncodings(token: string): Record<string, string> {
  const bytes = Buffer.from(token, 'base64url')
  return {
    ...encodings(token),
    'by its beginning': token.slice(0, 8),
    'in base64 of the bytes': bytes.toString('base64').slice(0, 42),
    'in hex of the bytes': bytes.toString('hex'),
  }
}
