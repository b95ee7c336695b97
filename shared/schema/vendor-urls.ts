import * as v from 'valibot'

/** The URL of each vendor, by vendor code; that of a separate service for pricing is `CODE-pricing`. It comes only from the environment, never from a request or a row. */
export type VendorUrls = ReadonlyMap<string, URL>

const isLoopback = (hostname: string): boolean => ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)

const isAllowed = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

/**
 * The setting VENDOR_URLS: a JSON object from vendor code to URL, `{}` by default. `http:` is allowed only for
 * loopback hosts, and a URL must not contain credentials. Error messages never repeat the value.
 */
export const VendorUrlsSetting = v.pipe(
  v.optional(v.string(), '{}'),
  v.parseJson(undefined, 'must be JSON'),
  // Valibot's `record` accepts an array too.
  v.check((value) => !Array.isArray(value), 'must be a JSON object'),
  v.record(
    v.pipe(v.string(), v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must have vendor codes as keys')),
    v.pipe(v.string('must hold URLs'), v.check(isAllowed, 'must hold https URLs without credentials')),
    'must be a JSON object',
  ),
  v.transform((urls): VendorUrls => new Map(Object.entries(urls).map(([code, url]) => [code, new URL(url)]))),
)
