/** The ways in which a text could be kept or logged, by what each is called. */
export function encodings(secret: string): Record<string, string> {
  const text = Buffer.from(secret)
  // Base64 in whole groups of three bytes: the last group changes with what follows.
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

/** The same of a token of 43 characters, and the ways in which the 32 bytes that they spell could be kept. */
export function tokenEncodings(token: string): Record<string, string> {
  const bytes = Buffer.from(token, 'base64url')
  return {
    ...encodings(token),
    'by its beginning': token.slice(0, 8),
    'in base64 of the bytes': bytes.toString('base64').slice(0, 42),
    'in hex of the bytes': bytes.toString('hex'),
  }
}
