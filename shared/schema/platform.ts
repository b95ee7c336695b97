import * as v from 'valibot'
import { hasAtMost, hasVisible, isOneLine } from '#shared/schema/text.ts'

/** Returns the schema of an absolute URL with one of these schemes. No other scheme becomes a link: `javascript:` would run. */
export const addressWith = (schemes: readonly [string, ...string[]], message: string) =>
  v.pipe(
    v.string(message),
    v.check((text) => schemes.includes(URL.parse(text)?.protocol ?? ''), message),
  )

/** The most characters of a name of the platform, or of one of its applications. */
const MAX_NAME = 60
/** All settings of a Lambda function together have at most 4 KB. */
const MAX_LINKS = 1500

const isName = (text: string): boolean => isOneLine(text) && hasVisible(text) && hasAtMost(MAX_NAME)(text)

/** The name of the platform, as people read it. */
export const PlatformName = v.pipe(
  v.string(),
  v.check(isName, `must be one line of 1 to ${MAX_NAME} characters, without control characters`),
)

/** An image of the front end's own origin, as a path or a URL; empty: none. The front end shows no image of another origin. */
export const PlatformLogo = v.pipe(
  v.string(),
  v.check(
    (text) =>
      text === '' || /^\/(?![/\\])[\x21-\x7e]*$/.test(text) || /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
    'must be a path such as /logo.svg, a URL of the front end, or empty',
  ),
)

const EXAMPLE = '[{"name": "Quotes", "url": "https://quotes.example"}]'

/** The other applications of the platform: JSON, empty for none. Messages never repeat the value. */
export const PlatformLinks = v.pipe(
  v.string(),
  v.maxLength(MAX_LINKS, `must have at most ${MAX_LINKS} characters`),
  v.transform((text) => (text === '' ? '[]' : text)),
  v.parseJson(undefined, `must be JSON, such as ${EXAMPLE}`),
  v.array(
    v.strictObject(
      {
        name: v.pipe(
          v.string('must have a name in each link'),
          v.check(isName, `must have names of one line of 1 to ${MAX_NAME} characters`),
        ),
        url: addressWith(['https:', 'http:'], 'must have an https: URL in each link'),
      },
      `must have links of a name and a url alone, such as ${EXAMPLE}`,
    ),
    `must be a list, such as ${EXAMPLE}`,
  ),
)
